// SPDX-License-Identifier: Apache-2.0
#include "tensors.hpp"
#include "tfd/variable/placement.hpp"
#include "tfd/variable/rows.hpp"
#include "tfd/variable/sharding.hpp"

using namespace tfd;
using namespace tfd::variable;
using namespace tfd::variable::test;
using tensor::DType;
using tensor::Tensor;

namespace {

Result<Partitioner> partitioner(const std::string& text) {
  return parse_partitioner(nlohmann::ordered_json::parse(text));
}

}  // namespace

TEST_CASE("sharding: the first shards have one row more, and every row is in one place") {
  for (std::int64_t rows = 1; rows < 20; ++rows) {
    for (std::int64_t shards = 1; shards <= rows; ++shards) {
      const Sharding sharding = Sharding::make({rows, 3}, shards).value();
      CHECK(sharding.first_row(0) == 0);
      CHECK(sharding.first_row(shards) == rows);
      for (std::int64_t i = 0; i < shards; ++i) CHECK(sharding.rows(i) == rows / shards + (i < rows % shards ? 1 : 0));
      for (std::int64_t row = 0; row < rows; ++row) {
        const auto [shard, local] = sharding.locate(row);
        REQUIRE(sharding.first_row(shard) + local == row);
        REQUIRE(local < sharding.rows(shard));
      }
    }
  }
  CHECK(Sharding::make({7, 2}, 3)->shard_shape(0) == tensor::Shape{3, 2});
  CHECK(Sharding::make({}, 1)->shard_shape(0) == tensor::Shape{});
  CHECK_FALSE(Sharding::make({}, 2));
  CHECK_FALSE(Sharding::make({3}, 4));
  CHECK_FALSE(Sharding::make({3}, 0));
  CHECK(shard_name("enc/table", 2) == "enc/table/part_2");
}

TEST_CASE("sharding: a lookup asks every shard for its own rows, and puts them together in order") {
  const Sharding sharding = Sharding::make({7, 2}, 3).value();
  const auto shares = sharding.split(ids({6, 0, 4, 2, 0}));
  REQUIRE(shares);
  CHECK(values_of<std::int64_t>((*shares)[0].indices) == std::vector<std::int64_t>{0, 2, 0});
  CHECK((*shares)[0].positions == std::vector<std::int64_t>{1, 3, 4});
  CHECK(values_of<std::int64_t>((*shares)[1].indices) == std::vector<std::int64_t>{1});
  CHECK(values_of<std::int64_t>((*shares)[2].indices) == std::vector<std::int64_t>{1});
  std::vector<float> numbers(14);
  for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] = static_cast<float>(i);
  const Tensor whole = floats(numbers, {7, 2});
  std::vector<Tensor> parts;
  for (std::int64_t i = 0; i < sharding.count(); ++i) {
    const Tensor shard = whole.slice_rows(sharding.first_row(i), sharding.rows(i));
    parts.push_back(gather_rows(shard, (*shares)[static_cast<std::size_t>(i)].indices).value());
  }
  const auto got = sharding.join(*shares, parts);
  REQUIRE(got);
  CHECK(values_of(*got) == std::vector<float>{12, 13, 0, 1, 8, 9, 4, 5, 0, 1});
  CHECK(sharding.split(ids({7})).error().code == Code::kOutOfRange);
  CHECK(sharding.join(*shares, {Tensor::zeros(DType::kF32, {3, 2})}).error().code == Code::kInvalidArgument);
}

TEST_CASE("sharding: a slice is read as Python writes it") {
  const auto rows = [](std::string_view text) {
    const auto slice = parse_row_slice(text);
    if (!slice) FAIL(slice.error().message);
    return rows_of(*slice, 7).value();
  };
  using Numbers = std::vector<std::int64_t>;
  CHECK(rows(":") == Numbers{0, 1, 2, 3, 4, 5, 6});
  CHECK(rows("2:4") == Numbers{2, 3});
  CHECK(rows("-2:") == Numbers{5, 6});
  CHECK(rows(":-5") == Numbers{0, 1});
  CHECK(rows("::3") == Numbers{0, 3, 6});
  CHECK(rows("5:1:-2") == Numbers{5, 3});
  CHECK(rows("9223372036854775807:") == Numbers{});
  for (const char* text : {"", "3", "a:b", "1:2:3:4", "1.5:2", "--1:", "9223372036854775808:", "1 :2"}) {
    CAPTURE(text);
    CHECK(parse_row_slice(text).error().message == fmt::format("'{}' is not a slice (e.g. 10:20, :-1 or ::2)", text));
  }
  CHECK(rows_of(*parse_row_slice("::0"), 7).error().message == "a slice's step can't be 0");
}

TEST_CASE("sharding: a slice of rows is Python's") {
  const auto sliced = [](const RowSlice& slice) { return rows_of(slice, 7).value(); };
  using Rows = std::vector<std::int64_t>;
  CHECK(sliced({}) == Rows{0, 1, 2, 3, 4, 5, 6});
  CHECK(sliced({1, 4}) == Rows{1, 2, 3});
  CHECK(sliced({-3, std::nullopt}) == Rows{4, 5, 6});
  CHECK(sliced({0, 100, 3}) == Rows{0, 3, 6});
  CHECK(sliced({std::nullopt, std::nullopt, -1}) == Rows{6, 5, 4, 3, 2, 1, 0});
  CHECK(sliced({5, 0, -2}) == Rows{5, 3, 1});
  CHECK(sliced({-100, 2}) == Rows{0, 1});
  CHECK(sliced({4, 2}).empty());
  CHECK(sliced({100, -100, -1}) == Rows{6, 5, 4, 3, 2, 1, 0});
  CHECK(sliced({0, 7, INT64_MAX}) == Rows{0});
}

TEST_CASE("partitioner: says what is wrong with its settings") {
  CHECK(partitioner(R"({"min_sise": {}})").error().message ==
        "min_sise: no such partitioner, did you mean 'min_size'?");
  CHECK(partitioner(R"({"fixed_shards": {}})").error().message == "fixed_shards.num_shards: is missing");
  CHECK(partitioner(R"({"fixed_shards": {"num_shards": 1.5}})").error().message ==
        "fixed_shards.num_shards: must be a whole number, not 1.5");
  CHECK(partitioner(R"({"max_size": {"max_shard_bytes": 8, "max_shard": 2}})").error().message ==
        "max_size.max_shard: unknown key, did you mean 'max_shards'?");
  CHECK(partitioner(R"({"max_size": {"max_shard_bytes": 8, "max_shards": 0}})")->partitions({9, 1}, 4).value()[0] == 5);
  // A variable without rows has nothing to cut, as TensorFlow has it; min_size leaves it whole.
  CHECK(partitioner(R"({"fixed_shards": {"num_shards": 3}})")->partitions({0, 4}, 4).value()[0] == 0);
  CHECK(partitioner(R"({"min_size": {"min_shard_bytes": 1, "max_shards": 3}})")->partitions({0, 4}, 4).value()[0] == 1);
  for (const tensor::Shape& empty : {tensor::Shape{0}, tensor::Shape{3, 0}})
    CHECK_FALSE(partitioner(R"({"max_size": {"max_shard_bytes": 8}})")->partitions(empty, 4));
  CHECK_FALSE(shard_count({2, 1}, {0, 4}));
  CHECK(shard_count({1, 1}, {0, 4}).value() == 1);
  CHECK_FALSE(shard_count({}, {3}));
  CHECK_FALSE(shard_count({0, 1}, {3, 1}));
  CHECK(shard_count({9, 1}, {3, 1}).value() == 3);
}

TEST_CASE("placement: shards count on, what is colocated does not") {
  Partitioner in_two;
  in_two.num_shards = 2;
  const auto placed = place_variables({{"a", {DType::kF32, {4}}, in_two, ""},
                                       {"b", {DType::kF32, {}}, in_two, ""},
                                       {"b/m", {DType::kF32, {5}}, in_two, "b"},
                                       {"c", {DType::kF32, {1}}, in_two, ""}},
                                      3);
  REQUIRE(placed);
  CHECK((*placed)[0].ps == std::vector<int>{0, 1});
  CHECK((*placed)[1].ps == std::vector<int>{2});
  CHECK((*placed)[2].ps == std::vector<int>{2});
  CHECK((*placed)[2].sharding.count() == 1);
  CHECK((*placed)[3].ps == std::vector<int>{0});
  CHECK(place_variables({{"x", {DType::kF32, {}}, {}, "y"}}, 1).error().message ==
        "'x' can't be placed beside 'y': no such variable was created before it");
  CHECK(
      place_variables({{"x", {DType::kF32, {2}}, in_two, ""}, {"y", {DType::kF32, {}}, {}, "x"}}, 2).error().message ==
      "'y' can't be placed beside 'x', which is in 2 shards");
  CHECK_FALSE(place_variables({}, 0));
}
