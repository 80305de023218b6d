// SPDX-License-Identifier: Apache-2.0
//
// To skip elements is to take them without looking: every pipeline goes on alike, wherever one begins to skip.
#include <algorithm>

#include "kit.hpp"

using namespace tfd;
using namespace tfd::data;

namespace {

/// Every value of the elements from here on, `most` of them.
std::vector<Numbers> rest_of(Iterator& iterator, int most) {
  std::vector<Numbers> out;
  for (int i = 0; i < most; ++i) {
    const auto element = iterator.next().value();
    if (!element) break;
    out.push_back(numbers_of(element->front()));
  }
  return out;
}

}  // namespace

TEST_CASE("skip: the elements that follow are those that would have followed") {
  std::string rows = "x\n";
  for (int i = 0; i < 23; ++i) rows += std::to_string(i) + "\n";
  const TemporaryDirectory files;
  files.write("rows.csv", rows);
  const std::string csv =
      R"({"csv": {"path": "rows.csv", "header": true, "fields": {"x": {"columns": 0, "dtype": "s64"}}}})";
  const std::string shuffle = R"({"shuffle": {"buffer": 7, "seed": 3}})";
  for (const std::string& pipeline : {
           std::string(R"([{"range": 10000}])"),
           std::string(R"([{"range": [5, -8000, -2]}])"),
           std::string(R"([{"tensor_slices": [1, 2, 3, 4, 5, 6, 7]}])"),
           std::string(R"([{"range": 23}, {"batch": 4}])"),
           std::string(R"([{"range": 23}, {"batch": {"size": 4, "drop_remainder": true}}])"),
           std::string(R"([{"range": 23}, {"take": 11}, {"skip": 3}, {"batch": 2}])"),
           std::string(R"([{"range": 50}, {"shard": {"count": 3, "index": 1}}, {"repeat": {"count": 2}}])"),
           std::string(R"([{"range": 5}, {"repeat": {"count": 4}}, {"batch": 3}, {"prefetch": 2}])"),
           std::string(R"([{"range": 0}, {"repeat": {}}])"),
           "[" + csv + ", " + shuffle + R"(, {"repeat": {}}, {"batch": 5}])",
           "[" + csv + R"(, {"repeat": {"count": 3}}, )" + shuffle + R"(, {"batch": 5}])",
           "[" + csv + R"(, {"take": 9}, {"repeat": {"count": 2}}, )" + shuffle + R"(, {"repeat": {"count": 2}}])",
       }) {
    CAPTURE(pipeline);
    const auto dataset = dataset_of(pipeline, files.context());
    const Order order{.seeds = ShuffleSeeds{4, 5}};
    const auto all = rest_of(*dataset->iterate(order).value(), 5000);
    for (const int before : {0, 1, 3}) {
      for (const int skipped : {0, 1, 2, 5, 6, 7, 22, 23, 24, 46, 4096, 5000}) {
        CAPTURE(before);
        CAPTURE(skipped);
        const auto iterator = dataset->iterate(order).value();
        rest_of(*iterator, before);
        const auto done = iterator->skip(skipped).value();
        const int there = static_cast<int>(all.size()) - before;
        if (all.size() < 5000) CHECK(done == std::clamp(there, 0, skipped));
        const auto rest = rest_of(*iterator, 6);
        const std::size_t first = std::min<std::size_t>(static_cast<std::size_t>(before + skipped), all.size());
        const std::size_t last = std::min(first + 6, all.size());
        if (last == 5000) continue;  // an endless one goes on behind the checked elements
        CHECK(rest == std::vector<Numbers>(all.begin() + static_cast<std::ptrdiff_t>(first),
                                           all.begin() + static_cast<std::ptrdiff_t>(last)));
      }
    }
  }
}

TEST_CASE("skip: whole passes of a known length cost nothing") {
  const auto dataset =
      dataset_of(R"([{"range": 1000}, {"shuffle": {"buffer": 1000, "seed": 1}}, {"repeat": {}}, {"batch": 10}])");
  const auto iterator = dataset->iterate().value();
  CHECK(iterator->skip(std::int64_t{1} << 50).value() == std::int64_t{1} << 50);
  CHECK(iterator->next().value());
  const auto ends = dataset_of(R"([{"range": 1000}, {"repeat": {"count": 1000000000000}}])")->iterate().value();
  CHECK(ends->skip(std::int64_t{999999999999999}).value() == 999999999999999);
  CHECK(numbers_of(ends->next().value()->front()) == Numbers{999});
  CHECK_FALSE(ends->next().value());
  CHECK(ends->skip(1).value() == 0);
}
