// SPDX-License-Identifier: Apache-2.0
#include "tensors.hpp"
#include "tfd/variable/placement.hpp"
#include "tfd/variable/sharding.hpp"

using namespace tfd;
using namespace tfd::variable;
using namespace tfd::variable::test;
using tensor::DType;
using tensor::Tensor;

namespace {

// 7 rows of 2 in 3 shards: 3, 2, 2.
ShardedVariable seven() {
  std::vector<float> values(14);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i);
  return ShardedVariable::cut(floats(values, {7, 2}), 3).value();
}
// The rows of a slice, by the first number of each.
std::vector<float> sliced(const RowSlice& slice) {
  const Tensor got = seven().slice(slice).value();
  std::vector<float> firsts;
  for (std::size_t i = 0; i < static_cast<std::size_t>(got.size()); i += 2) firsts.push_back(got.as<float>()[i] / 2);
  return firsts;
}
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
  const auto got = seven().gather(ids({6, 0, 4, 2, 0}));
  REQUIRE(got);
  CHECK(values_of(*got) == std::vector<float>{12, 13, 0, 1, 8, 9, 4, 5, 0, 1});
  CHECK(seven().gather(ids({}))->shape() == tensor::Shape{0, 2});
  CHECK(seven().gather(ids({7})).error().code == Code::kOutOfRange);
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

TEST_CASE("sharded variable: reads rows and slices as Python does") {
  const ShardedVariable v = seven();
  CHECK(v.shape() == tensor::Shape{7, 2});
  CHECK(v.read().as<float>()[13] == 13);
  CHECK(values_of(*v.row(3)) == std::vector<float>{6, 7});
  CHECK(values_of(*v.row(-1)) == std::vector<float>{12, 13});
  CHECK_FALSE(v.row(7));
  CHECK_FALSE(v.row(-8));
  CHECK(sliced({}) == std::vector<float>{0, 1, 2, 3, 4, 5, 6});
  CHECK(sliced({1, 4}) == std::vector<float>{1, 2, 3});
  CHECK(sliced({-3, std::nullopt}) == std::vector<float>{4, 5, 6});
  CHECK(sliced({0, 100, 3}) == std::vector<float>{0, 3, 6});
  CHECK(sliced({std::nullopt, std::nullopt, -1}) == std::vector<float>{6, 5, 4, 3, 2, 1, 0});
  CHECK(sliced({5, 0, -2}) == std::vector<float>{5, 3, 1});
  CHECK(sliced({-100, 2}) == std::vector<float>{0, 1});
  CHECK(sliced({4, 2}).empty());
  CHECK(sliced({100, -100, -1}) == std::vector<float>{6, 5, 4, 3, 2, 1, 0});
  CHECK(sliced({0, 7, INT64_MAX}) == std::vector<float>{0});
  CHECK_FALSE(v.slice({0, 1, 0}));
  CHECK(v.slice({4, 5})->data() == v.shards()[1].data() + 8);  // shared
}

TEST_CASE("sharded variable: whole updates are cut, row updates go to the shards that have the rows") {
  ShardedVariable v = seven();
  REQUIRE(v.assign_add(floats(std::vector<float>(14, 1), {7, 2})));
  CHECK(values_of(*v.row(6)) == std::vector<float>{13, 14});
  REQUIRE(v.assign_sub(floats(std::vector<float>(14, 2), {7, 2})));
  CHECK(values_of(*v.row(0)) == std::vector<float>{-1, 0});
  REQUIRE(v.assign(floats(std::vector<float>(14, 5), {7, 2})));
  REQUIRE(v.scatter(RowOp::kAdd, {ids({6, 2, 6}), floats({1, 1, 2, 2, 3, 3}, {3, 2})}));
  CHECK(values_of(v.read()) == std::vector<float>{5, 5, 5, 5, 7, 7, 5, 5, 5, 5, 5, 5, 9, 9});
  CHECK_FALSE(v.assign(floats({1, 2}, {1, 2})));
  CHECK_FALSE(v.scatter(RowOp::kAdd, {ids({7}), floats({1, 1}, {1, 2})}));
  CHECK_FALSE(v.scatter(RowOp::kAdd, {ids({0}), floats({1}, {1, 1})}));
}

TEST_CASE("sharded variable: shards must be alike, and rows spread evenly to be looked up") {
  CHECK_FALSE(ShardedVariable::make({}));
  CHECK_FALSE(ShardedVariable::make({floats({1}, {})}));
  CHECK(ShardedVariable::make({floats({1, 2}, {1, 2}), floats({1}, {1, 1})}).error().message ==
        "shards may differ only in their number of rows: f32[1, 1] beside f32[1, 2]");
  CHECK_FALSE(ShardedVariable::make({floats({1}), ids({1})}));
  const auto uneven = ShardedVariable::make({floats({1}), floats({2, 3})});
  REQUIRE(uneven);
  CHECK(values_of(uneven->read()) == std::vector<float>{1, 2, 3});
  CHECK(values_of(*uneven->row(2)) == std::vector<float>{3});
  CHECK(uneven->gather(ids({0})).error().code == Code::kUnimplemented);
}

TEST_CASE("partitioner: says what is wrong with its settings") {
  CHECK(partitioner(R"({"min_sise": {}})").error().message ==
        "min_sise: no such partitioner, did you mean 'min_size'?");
  CHECK(partitioner(R"({"fixed_shards": {}})").error().message == "fixed_shards.num_shards: is missing");
  CHECK(partitioner(R"({"fixed_shards": {"num_shards": 1.5}})").error().message ==
        "fixed_shards.num_shards: must be a whole number >= 1, not 1.5");
  CHECK(partitioner(R"({"max_size": {"max_shard_bytes": 8, "max_shard": 2}})").error().message ==
        "max_size.max_shard: unknown, did you mean 'max_shards'?");
  CHECK(partitioner(R"({"max_size": {"max_shard_bytes": 8, "max_shards": 0}})")->partitions({9, 1}, 4).value()[0] == 5);
  // Without rows there is nothing to cut, as TensorFlow has it; min_size leaves such a variable whole.
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
