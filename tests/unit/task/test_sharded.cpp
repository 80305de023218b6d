// SPDX-License-Identifier: Apache-2.0
//
// Partitioned variables: several shards on several parameter servers, one tensor for functions.
#include "client/sharded_state.hpp"
#include "small_cluster.hpp"

using namespace tfd;
using namespace tfd::task;
using namespace tfd::task::test;

namespace {

kit::Body same() {
  return [](const Tensors& in) -> Result<Tensors> { return in; };
}

/// A table of seven rows in `shards`, and one variable before and after it.
Parts tables(int shards, const std::string& optimizer = R"({"sgd": {"learning_rate": 1}})") {
  return {R"({"v": 1, "variables": {
      "first": {"shape": [], "init": {"ones": {}}},
      "table": {"shape": [7, 2], "init": {"normal": {"seed": 5}}, "partitioner": {"fixed_shards": {"num_shards": )" +
              std::to_string(shards) + R"(}}},
      "beside": {"shape": [3], "init": {"ones": {}}, "colocate_with": "first"},
      "last": {"shape": [3], "init": {"ones": {}}}},
    "optimizer": )" +
              optimizer + R"(, "functions": {
      "read": {"module": "same.mlir", "inputs": [{"variable": "table"}], "outputs": [{"result": 0}]},
      "assign": {"module": "same.mlir", "inputs": [{"arg": 0}], "outputs": [{"assign": "table"}]},
      "add": {"module": "same.mlir", "inputs": [{"arg": 0}], "outputs": [{"assign_add": "table"}], "returns": ["table"]},
      "sub": {"module": "same.mlir", "inputs": [{"arg": 0}], "outputs": [{"assign_sub": "table"}], "returns": ["table"]},
      "push": {"module": "same.mlir", "inputs": [{"arg": 0}], "outputs": [{"gradient": "table"}], "returns": ["table"]}}})",
          {{"same.mlir", "(%x: tensor<7x2xf32>) -> tensor<7x2xf32>"}},
          {{"same.mlir", same()}}};
}

Tensor counted(float first) {
  std::vector<float> values;
  for (int i = 0; i < 14; ++i) values.push_back(first + static_cast<float>(i));
  return floats({7, 2}, values);
}

Tensor table_of(SmallCluster& cluster) {
  const auto outcome = cluster.run("read");
  if (!outcome) FAIL(outcome.error().message);
  return outcome->results[0];
}

}  // namespace

TEST_CASE("shards: are placed round-robin after what was made before, colocated variables where the other is") {
  SmallCluster cluster(tables(3), 3);
  CHECK(cluster.placement.placed.at("first").ps == std::vector<int>{0});
  CHECK(cluster.placement.placed.at("table").ps == std::vector<int>{1, 2, 0});
  CHECK(cluster.placement.placed.at("beside").ps == std::vector<int>{0});
  CHECK(cluster.placement.placed.at("last").ps == std::vector<int>{1});  // colocated ones don't count
  CHECK(cluster.read(1, "table/part_0")->shape() == tensor::Shape{3, 2});
  CHECK(cluster.read(2, "table/part_1")->shape() == tensor::Shape{2, 2});
  CHECK(cluster.read(0, "table/part_2")->shape() == tensor::Shape{2, 2});
  CHECK(cluster.read(0, "beside"));
  CHECK(cluster.read(0, "table").error().code == Code::kNotFound);
}

TEST_CASE("shards: together start as the variable in one piece does") {
  SmallCluster whole(tables(1), 1);
  for (const int shards : {2, 3, 7}) {
    SmallCluster cut(tables(shards), 3);
    CHECK(tensor::same_bytes(table_of(cut), table_of(whole)));
  }
}

TEST_CASE("shards: a function assigns, adds and subtracts as to one tensor") {
  for (const int shards : {1, 3, 7}) {  // seven on three parameter servers: several in one message
    SmallCluster cluster(tables(shards), 3);
    REQUIRE(cluster.run("assign", {counted(0)}));
    CHECK(tensor::same_bytes(table_of(cluster), counted(0)));
    const auto added = cluster.run("add", {counted(10)});
    REQUIRE(added);
    CHECK(floats(added->results[0])[13] == 13 + 23);
    const auto less = cluster.run("sub", {counted(10)});
    REQUIRE(less);
    CHECK(tensor::same_bytes(less->results[0], counted(0)));
  }
}

TEST_CASE("shards: an optimizer gives what it gives for one piece") {
  for (const std::string optimizer :
       {R"({"adam": {"learning_rate": 0.1, "clipnorm": 2}})",
        R"({"adam": {"learning_rate": 0.1, "clipnorm": 2, "gradient_accumulation_steps": 2}})",
        R"({"sgd": {"groups": {"table": {"learning_rate": 0.5}}}})",
        R"({"adamw": {"exclude_from_weight_decay": ["table"]}})"}) {
    INFO(optimizer);
    SmallCluster whole(tables(1, optimizer), 1);
    SmallCluster cut(tables(3, optimizer), 2);
    for (int step = 0; step < 4; ++step) {
      const auto gradient = counted(static_cast<float>(step) - 5);
      const auto one = whole.run("push", {gradient}), other = cut.run("push", {gradient});
      REQUIRE(one);
      REQUIRE(other);
      CHECK(tensor::same_bytes(one->results[0], other->results[0]));
    }
  }
}

TEST_CASE("shards: the state of all is one of whole variables, and cut anew for others") {
  const std::string adam = R"({"adam": {"learning_rate": 0.1}})";
  SmallCluster three(tables(3, adam), 3), two(tables(2, adam), 2), one(tables(1, adam), 1);
  for (int step = 0; step < 2; ++step) REQUIRE(three.run("push", {counted(static_cast<float>(step))}));
  const auto export_all = [](SmallCluster& cluster, int count) {
    std::vector<tensor::NamedTensors> parts;
    for (int i = 0; i < count; ++i) {
      auto part = cluster.ask<tensor::NamedTensors>(
          [&](Deadline deadline, auto done) { cluster.server(i).export_state(deadline, done); });
      REQUIRE(part);
      parts.push_back(std::move(*part));
    }
    auto joined = join_state(cluster.placement, std::move(parts));
    if (!joined) FAIL(joined.error().message);
    return std::map<std::string, Tensor>(joined->begin(), joined->end());
  };
  const auto import_all = [](SmallCluster& cluster, int count, const std::map<std::string, Tensor>& whole) {
    const auto parts = cut_state(cluster.placement, tensor::NamedTensors(whole.begin(), whole.end()));
    REQUIRE(parts);
    for (int i = 0; i < count; ++i)
      CHECK(cluster.ask<void>([&](Deadline deadline, auto done) {
        cluster.server(i).import_state((*parts)[static_cast<std::size_t>(i)], deadline, done);
      }));
  };
  const auto state = export_all(three, 3);
  CHECK(state.at("table").shape() == tensor::Shape{7, 2});
  CHECK(state.at("table/.optimizer/adam/velocity").shape() == tensor::Shape{7, 2});
  CHECK(state.at("table/.optimizer/updates").as<std::int64_t>()[0] == 2);
  CHECK(state.at(".iterations").as<std::int64_t>()[0] == 2);
  for (const auto& [name, value] : state) CHECK(name.find("/part_") == std::string::npos);
  import_all(two, 2, state);
  import_all(one, 1, state);
  for (SmallCluster* cluster : {&two, &one}) {  // all go on alike
    CHECK(tensor::same_bytes(table_of(*cluster), state.at("table")));
  }
  const auto next = three.run("push", {counted(7)}), in_two = two.run("push", {counted(7)}),
             in_one = one.run("push", {counted(7)});
  REQUIRE((next && in_two && in_one));
  CHECK(tensor::same_bytes(next->results[0], in_two->results[0]));
  CHECK(tensor::same_bytes(next->results[0], in_one->results[0]));
  const auto refused = cut_state(two.placement, {{"table", floats({2, 2}, {1, 2, 3, 4})}});
  CHECK(refused.error().message == "'table' is f32[2, 2], but the variable is [7, 2]");
}
