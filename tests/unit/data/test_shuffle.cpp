// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "kit.hpp"

using namespace tfd;
using namespace tfd::data;

namespace {
Numbers sorted(Numbers values) {
  std::sort(values.begin(), values.end());
  return values;
}
Numbers part(const Numbers& values, std::size_t first, std::size_t count) {
  const auto begin = values.begin() + static_cast<std::ptrdiff_t>(first);
  return {begin, begin + static_cast<std::ptrdiff_t>(count)};
}
const Numbers kTen{0, 1, 2, 3, 4, 5, 6, 7, 8, 9};

Numbers values_in(const Order& order, const DatasetPtr& dataset) {
  auto iterator = dataset->iterate(order);
  REQUIRE(iterator);
  return drain(**iterator).flat();
}
Numbers values_in(const Order& order, const std::string& text) { return values_in(order, dataset_of(text)); }
}  // namespace

TEST_CASE("shuffle: a permutation that is a function of the seed only") {
  const std::string seven = R"([{"range": 100}, {"shuffle": {"buffer": 100, "seed": 7}}])";
  const Numbers first = values_of(seven);
  CHECK(first == values_of(seven));
  CHECK(sorted(first) == values_of(R"([{"range": 100}])"));
  CHECK(first != values_of(R"([{"range": 100}])"));
  CHECK(first != values_of(R"([{"range": 100}, {"shuffle": {"buffer": 100, "seed": 8}}])"));
  // One dataset gives the same order as often as it is iterated.
  const auto dataset = dataset_of(seven);
  CHECK(drain(dataset).flat() == first);
  CHECK(drain(dataset).flat() == first);
  CHECK(dataset->cardinality() == 100);
}

TEST_CASE("shuffle: the order of a seed stays what it was") {
  // Written down once: a change here would change every seeded program.
  CHECK(values_of(R"([{"range": 10}, {"shuffle": {"buffer": 10, "seed": 7}}])") ==
        Numbers{9, 5, 6, 4, 1, 3, 2, 0, 7, 8});
}

TEST_CASE("shuffle: without a seed every pass is another order") {
  const std::string text = R"([{"range": 1000}, {"shuffle": 1000}])";
  CHECK(values_of(text) != values_of(text));
}

TEST_CASE("shuffle: reshuffles in every pass of a repeat, or doesn't") {
  const Numbers anew = values_of(R"([{"range": 10}, {"shuffle": {"buffer": 10, "seed": 1}}, {"repeat": 3}])");
  REQUIRE(anew.size() == 30);
  CHECK(part(anew, 0, 10) != part(anew, 10, 10));
  CHECK(part(anew, 10, 10) != part(anew, 20, 10));
  CHECK(sorted(part(anew, 20, 10)) == kTen);
  for (const char* seed : {R"("seed": 1,)", ""}) {
    const Numbers same = values_of(fmt::format(
        R"([{{"range": 10}}, {{"shuffle": {{"buffer": 10, {} "reshuffle_each_iteration": false}}}}, {{"repeat": 2}}])",
        seed));
    CHECK(part(same, 0, 10) == part(same, 10, 10));
  }
}

TEST_CASE("shuffle: the passes of a repeat can be iterated one by one") {
  const Numbers repeated = values_of(R"([{"range": 10}, {"shuffle": {"buffer": 10, "seed": 1}}, {"repeat": 3}])");
  const auto once = dataset_of(R"([{"range": 10}, {"shuffle": {"buffer": 10, "seed": 1}}])");
  for (std::uint64_t pass = 0; pass < 3; ++pass) {
    auto iterator = *once->iterate({.pass = pass});
    CHECK(drain(*iterator).flat() == part(repeated, pass * 10, 10));
  }
  const auto nested =
      dataset_of(R"([{"range": 10}, {"shuffle": {"buffer": 10, "seed": 1}}, {"repeat": 2}, {"repeat": 2}])");
  const Numbers all = drain(nested).flat();
  REQUIRE(all.size() == 40);
  CHECK(part(all, 0, 20) != part(all, 20, 20));
  CHECK(part(all, 10, 10) != part(all, 20, 10));
}

TEST_CASE("shuffle: streams of one seed differ") {
  const std::string text = R"([{"range": 100}, {"shuffle": {"buffer": 100, "seed": 7}}])";
  const Numbers zero = values_of(text);
  const Numbers one = values_in({.stream = 1}, text);
  const Numbers two = values_in({.stream = 2}, text);
  CHECK(zero != one);
  CHECK(one != two);
  CHECK(one == values_in({.stream = 1}, text));
  CHECK(sorted(one) == sorted(zero));
}

TEST_CASE("shuffle: readers, runs that go on, and those who come back have streams of their own") {
  CHECK(shuffle_stream(0, 0, 0) == 0);
  std::set<std::uint64_t> all;
  for (std::uint64_t reader = 0; reader < 20; ++reader)
    for (std::int64_t step = 0; step < 20; ++step)
      for (std::uint64_t returns = 0; returns < 5; ++returns) {
        CHECK(all.insert(shuffle_stream(reader, step, returns)).second);
        CHECK(shuffle_stream(reader, step, returns) == shuffle_stream(reader, step, returns));
      }
}

TEST_CASE("shuffle: with a seed and without reshuffling the order is the dataset's own, whatever the stream or pass") {
  const std::string fixed =
      R"({"range": 100}, {"shuffle": {"buffer": 100, "seed": 7, "reshuffle_each_iteration": false}})";
  const Numbers all = values_of("[" + fixed + "]");
  for (const Order& order : {Order{.stream = 5}, Order{.pass = 3}, Order{.seeds = ShuffleSeeds{1, 2}}})
    CHECK(values_in(order, "[" + fixed + "]") == all);
  // So a training's part and an evaluation's stay apart.
  Numbers parts = values_in({.stream = 5}, "[" + fixed + R"(, {"take": 70}])");
  const Numbers rest = values_in({.seeds = ShuffleSeeds{1, 2}}, "[" + fixed + R"(, {"skip": 70}])");
  parts.insert(parts.end(), rest.begin(), rest.end());
  CHECK(parts == all);
}

TEST_CASE("shuffle: shards of one order are a partition, however the pipeline shuffles") {
  for (const char* stages : {
           R"({"shuffle": 100})",
           R"({"shuffle": 10})",
           R"({"shuffle": {"buffer": 100, "seed": 3}})",
           R"({"shuffle": {"buffer": 100, "reshuffle_each_iteration": false}})",
           R"({"shuffle": 100}, {"shuffle": 50})",
           R"({"shuffle": 100}, {"prefetch": 3})",
           R"({"shuffle": 100}, {"batch": 7})",
           R"({"batch": 7}, {"shuffle": 100})",
           R"({"shuffle": 100}, {"repeat": 3})",
           R"({"repeat": 3}, {"shuffle": 100})",
           R"({"shuffle": 100}, {"repeat": 2}, {"shuffle": 100}, {"repeat": 2})",
       }) {
    const std::string text = fmt::format(R"([{{"range": 100}}, {}])", stages);
    for (const std::uint64_t seed : {0, 1, 17}) {
      const Order order{.seeds = ShuffleSeeds{seed, 99}};
      Numbers all;
      for (std::int64_t index = 0; index < 3; ++index) {
        // Each reader has a dataset of its own.
        const Numbers shard = values_in(order, shard_of(text, 3, index));
        all.insert(all.end(), shard.begin(), shard.end());
      }
      INFO(text);
      CHECK(sorted(all) == sorted(values_of(text)));
    }
  }
  // The order decides on the elements, too.
  const std::string taken = R"([{"range": 100}, {"shuffle": 100}, {"take": 10}])";
  CHECK(values_in({.seeds = ShuffleSeeds{4, 5}}, taken) == values_in({.seeds = ShuffleSeeds{4, 5}}, taken));
  CHECK(values_in({.seeds = ShuffleSeeds{4, 5}}, taken) != values_in({.seeds = ShuffleSeeds{6, 5}}, taken));
}

TEST_CASE("shuffle: given seeds are those of shuffles that state none") {
  const ShuffleSeeds some{4, 5}, other{6, 5};
  const std::string plain = R"([{"range": 100}, {"shuffle": 100}])";
  CHECK(values_in({.seeds = some}, plain) == values_in({.seeds = some}, plain));
  CHECK(values_in({.seeds = some}, plain) != values_in({.seeds = other}, plain));
  CHECK(values_in({.pass = 1, .seeds = some}, plain) != values_in({.seeds = some}, plain));
  CHECK(values_in({.stream = 1, .seeds = some}, plain) != values_in({.seeds = some}, plain));
  const std::string kept = R"([{"range": 100}, {"shuffle": {"buffer": 100, "reshuffle_each_iteration": false}}])";
  CHECK(values_in({.seeds = some}, kept) == values_in({.pass = 1, .seeds = other}, kept));
  const std::string stated = R"([{"range": 100}, {"shuffle": {"buffer": 100, "seed": 7}}])";
  CHECK(values_in({.seeds = some}, stated) == values_of(stated));
}

TEST_CASE("shuffle: a small buffer lets nothing come early, and one of 1 changes nothing") {
  const Numbers values = values_of(R"([{"range": 1000}, {"shuffle": {"buffer": 10, "seed": 3}}])");
  CHECK(sorted(values) == values_of(R"([{"range": 1000}])"));
  bool early = false;
  for (std::size_t i = 0; i < values.size(); ++i) early = early || values[i] > static_cast<double>(i) + 9;
  CHECK_FALSE(early);
  CHECK(values_of(R"([{"range": 10}, {"shuffle": {"buffer": 1, "seed": 3}}])") == kTen);
  CHECK(values_of(R"([{"range": 0}, {"shuffle": {"buffer": 5}}])").empty());
  // A buffer far larger than the data takes only what the data needs.
  CHECK(sorted(values_of(R"([{"range": 10}, {"shuffle": {"buffer": 1000000000000, "seed": 3}}])")) == kTen);
}

TEST_CASE("shuffle: every element comes everywhere equally often") {
  // 4 elements, 24 orders, 12 000 seeds: 500 each; chi-square with 23 degrees of freedom is below 49.7 in 99.9 %.
  std::map<Numbers, int> seen;
  for (int seed = 0; seed < 12000; ++seed)
    ++seen[values_of(fmt::format(R"([{{"range": 4}}, {{"shuffle": {{"buffer": 4, "seed": {}}}}}])", seed))];
  REQUIRE(seen.size() == 24);
  double chi_square = 0;
  for (const auto& [order, count] : seen) chi_square += std::pow(count - 500, 2) / 500;
  CHECK(chi_square < 49.7);
}

TEST_CASE("shuffle: names what is wrong") {
  CHECK(error_of(R"([{"range": 4}, {"shuffle": {}}])").message == "[1].shuffle.buffer: is missing");
  CHECK(error_of(R"([{"range": 4}, {"shuffle": {"buffer": 0}}])").message ==
        "[1].shuffle.buffer: must be positive, not 0");
  CHECK(error_of(R"([{"range": 4}, {"shuffle": {"buffer_size": 4}}])")
            .message.starts_with("[1].shuffle.buffer_size: unknown key"));
  CHECK(error_of(R"([{"range": 4}, {"shuffle": {"buffer": 4, "seed": -1}}])").message ==
        "[1].shuffle.seed: must be a whole number >= 0");
  CHECK(error_of(R"([{"range": 4}, {"shuffle": {"buffer": 4, "seed": 1.5}}])").code == Code::kInvalidArgument);
}
