// SPDX-License-Identifier: Apache-2.0
//
// Pipelines that nobody thought of: their elements, their number, and the rest when one goes on in the middle.
#include "random_pipelines.hpp"

using namespace tfd;
using namespace tfd::data;

namespace {

// Some that are always the same, and some new ones.
std::vector<std::uint64_t> seeds(std::uint64_t count) {
  std::vector<std::uint64_t> out;
  for (std::uint64_t seed = 0; seed < count; ++seed) out.push_back(seed);
  for (std::uint64_t i = 0; i < count / 4; ++i) out.push_back(draw_seed());
  return out;
}

// Files in small pieces, parsed by several threads.
DatasetContext context_of(const PipelineWorld& world, std::uint64_t seed) {
  DatasetContext context = world.context();
  context.parsing = {.threads = seed % 4, .piece_bytes = 1 + seed % 30, .ahead_bytes = 1 + seed % 100};
  return context;
}

bool fits(const Value& value, const tensor::Shape& stated) {
  if (value.shape.size() != stated.size()) return false;
  for (std::size_t axis = 0; axis < stated.size(); ++axis)
    if (stated[axis] != -1 && stated[axis] != value.shape[axis]) return false;
  return true;
}

}  // namespace

TEST_CASE("random pipelines: give what whole lists of elements give") {
  const PipelineWorld world;
  for (const std::uint64_t seed : seeds(400)) {
    const auto pipeline = draw_pipeline(seed, world);
    CAPTURE(seed);
    CAPTURE(pipeline.dump());
    const auto dataset = dataset_of(pipeline.dump(), context_of(world, seed));
    const Elements expected = reference_elements(pipeline, world);
    for (int pass = 0; pass < 2; ++pass)  // of which the second may come out of caches
      CHECK(rest_of(**dataset->iterate(), dataset->spec()) == expected);
    if (const auto count = dataset->cardinality()) CHECK(*count == std::ssize(expected));
    for (const Values& element : expected)
      for (const FieldSpec& field : dataset->spec()) CHECK(fits(element.at(field.name), field.shape));
    // The plan that is written is the same pipeline.
    const auto written = to_json(parse_plan(pipeline).value());
    CAPTURE(written.dump());
    const auto again = dataset_of(written.dump(), world.context());
    CHECK(rest_of(**again->iterate(), again->spec()) == expected);
  }
}

TEST_CASE("random pipelines: restored at any position they go on with the same elements") {
  const PipelineWorld world;
  for (const std::uint64_t seed : seeds(120)) {
    auto pipeline = draw_pipeline(seed, world);
    // Shuffles without a seed too, whose order is that of the run, and a cache in a file.
    if (seed % 3 == 0) pipeline.push_back({{"shuffle", {{"buffer", 7}}}});
    if (seed % 4 == 0) pipeline.push_back({{"cache", {{"path", fmt::format("cache-{}", seed)}}}});
    if (seed % 5 == 0) pipeline.push_back({{"repeat", 2}});
    CAPTURE(seed);
    CAPTURE(pipeline.dump());
    const Order order{.stream = seed % 2, .seeds = ShuffleSeeds{seed, seed + 1}};
    const auto iterator = dataset_of(pipeline.dump(), world.context())->iterate(order).value();
    const ElementSpec spec = dataset_of(pipeline.dump(), world.context())->spec();
    const Elements all = rest_of(*iterator, spec);
    const std::size_t step = std::max<std::size_t>(all.size() / 40, 1);
    for (std::size_t position = 0; position <= all.size(); position += step) {
      CAPTURE(position);
      const auto first = static_cast<std::ptrdiff_t>(position);
      for (const std::size_t taken : {std::size_t{0}, std::min<std::size_t>(position, 2)}) {
        const auto restored = dataset_of(pipeline.dump(), context_of(world, seed + position))->iterate(order).value();
        CHECK(rest_of(*restored, spec, taken).size() == taken);
        CHECK(restored->skip(static_cast<std::int64_t>(position - taken)).value() ==
              static_cast<std::int64_t>(position - taken));
        CHECK(rest_of(*restored, spec) == Elements(all.begin() + first, all.end()));
      }
    }
    const auto in_turns = dataset_of(pipeline.dump(), world.context())->iterate(order).value();
    for (std::size_t at = 0; at < all.size();) {
      const std::size_t taken = std::min<std::size_t>(1 + (seed + at) % 3, all.size() - at);
      const auto first = all.begin() + static_cast<std::ptrdiff_t>(at);
      CHECK(rest_of(*in_turns, spec, taken) == Elements(first, first + static_cast<std::ptrdiff_t>(taken)));
      at += taken;
      const std::size_t skipped = std::min<std::size_t>((seed + 2 * at) % 9, all.size() - at);
      CHECK(in_turns->skip(static_cast<std::int64_t>(skipped)).value() == static_cast<std::int64_t>(skipped));
      at += skipped;
    }
    const auto beyond = dataset_of(pipeline.dump(), world.context())->iterate(order).value();
    CHECK(beyond->skip(std::ssize(all) + 5).value() == std::ssize(all));
    CHECK_FALSE(beyond->next().value());
  }
}
