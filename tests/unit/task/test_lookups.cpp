// SPDX-License-Identifier: Apache-2.0
//
// Embeddings: rows of partitioned tables looked up and updated by their numbers; only these rows move.
#include "small_cluster.hpp"

using namespace tfd;
using namespace tfd::task;
using namespace tfd::task::test;

namespace {

constexpr std::int64_t kRows = 1000;

/// A table of a thousand rows of four in `shards`; functions over four ids.
Parts embeddings(int shards, const std::string& optimizer) {
  return {R"({"v": 1, "variables": {"first": {"shape": [], "init": {"ones": {}}},
      "table": {"shape": [1000, 4], "init": {"normal": {"seed": 5}}, "partitioner": {"fixed_shards": {"num_shards": )" +
              std::to_string(shards) + R"(}}}},
    "optimizer": )" +
              optimizer + R"(, "functions": {
      "look": {"module": "rows.mlir", "inputs": [{"lookup": "table", "ids": {"arg": 0}}], "outputs": [{"result": 0}]},
      "step": {"module": "rows.mlir", "inputs": [{"lookup": "table", "ids": {"arg": 0}}],
               "outputs": [{"gradient": "table", "ids": {"arg": 0}}]},
      "twice": {"module": "two.mlir", "inputs": [{"lookup": "table", "ids": {"arg": 0}}, {"lookup": "table", "ids": {"arg": 1}}],
               "outputs": [{"gradient": "table", "ids": {"arg": 0}}, {"gradient": "table", "ids": {"arg": 1}}]},
      "assign": {"module": "pair.mlir", "inputs": [{"arg": 0}, {"arg": 1}],
                 "outputs": [{"assign": "table", "part": "indices"}, {"assign": "table", "part": "values"}]},
      "add": {"module": "pair.mlir", "inputs": [{"arg": 0}, {"arg": 1}],
              "outputs": [{"assign_add": "table", "part": "indices"}, {"assign_add": "table", "part": "values"}]}}})",
          {{"rows.mlir", "(%x: tensor<4x4xf32>) -> tensor<4x4xf32>"},
           {"two.mlir", "(%x: tensor<4x4xf32>, %y: tensor<4x4xf32>) -> (tensor<4x4xf32>, tensor<4x4xf32>)"},
           {"pair.mlir", "(%i: tensor<4xi32>, %x: tensor<4x4xf32>) -> (tensor<4xi32>, tensor<4x4xf32>)"}},
          {{".mlir", [](const Tensors& in) -> Result<Tensors> { return in; }}}};
}

const std::string kSgd = R"({"sgd": {"learning_rate": 0.5}})";

Tensor rows_of(SmallCluster& cluster, const std::vector<std::int32_t>& numbers) {
  const auto outcome = cluster.run("look", {ids(numbers)});
  if (!outcome) FAIL(outcome.error().message);
  return outcome->results[0];
}

std::vector<float> row(const Tensor& rows, std::int64_t at) { return floats(rows.slice_rows(at, 1)); }

Tensor filled(float value) { return floats({4, 4}, std::vector<float>(16, value)); }

}  // namespace

TEST_CASE("lookup: rows come in the order of the ids, from wherever they are, duplicates and all") {
  SmallCluster cut(embeddings(3, kSgd), 3), whole(embeddings(1, kSgd), 1);
  const std::vector<std::int32_t> numbers{999, 0, 500, 0};
  const Tensor rows = rows_of(cut, numbers);
  CHECK(tensor::same_bytes(rows, rows_of(whole, numbers)));
  CHECK(row(rows, 1) == row(rows, 3));
  CHECK(row(rows, 0) != row(rows, 1));
  CHECK(row(rows, 1) == floats(cut.read(1, "table/part_0")->slice_rows(0, 1)));
  CHECK(row(rows, 0) == floats(cut.read(0, "table/part_2")->slice_rows(332, 1)));
}

TEST_CASE("lookup: an id that is no row is named, with its table and how many rows that has") {
  for (const int shards : {1, 3}) {
    SmallCluster cluster(embeddings(shards, kSgd), shards);
    auto outcome = cluster.run("look", {ids({1, 2, 1000, 3})});
    REQUIRE_FALSE(outcome);
    CHECK(outcome.error().code == Code::kInvalidArgument);  // not the end of data
    CHECK(outcome.error().message == "look: 'table': no row 1000: there are 1000");
    outcome = cluster.run("step", {ids({1, 2, -7, 3})});
    REQUIRE_FALSE(outcome);
    CHECK(outcome.error().message == "step: 'table': no row -7: there are 1000");
    outcome = cluster.run("add", {ids({1, 2, 4000, 3}), filled(1)});
    REQUIRE_FALSE(outcome);
    CHECK(outcome.error().code == Code::kInvalidArgument);
    CHECK(outcome.error().message == "add: 'table': no row 4000: there are 1000");
  }
}

TEST_CASE("embeddings: gradients of rows add up where a row is named twice, and no other row changes") {
  SmallCluster cluster(embeddings(3, kSgd), 3);
  REQUIRE(cluster.run("assign", {ids({0, 400, 999, 1}), filled(8)}));
  REQUIRE(cluster.run("step", {ids({0, 999, 0, 400})}));  // the gradient is the row: 8, and 16 of row 0
  const Tensor rows = rows_of(cluster, {0, 400, 999, 1});
  CHECK(row(rows, 0) == std::vector<float>(4, 0));
  CHECK(row(rows, 1) == std::vector<float>(4, 4));
  CHECK(row(rows, 2) == std::vector<float>(4, 4));
  CHECK(row(rows, 3) == std::vector<float>(4, 8));
  REQUIRE(cluster.run("add", {ids({1, 1, 400, 1}), filled(1)}));
  CHECK(row(rows_of(cluster, {1, 1, 1, 1}), 0) == std::vector<float>(4, 11));
}

TEST_CASE("embeddings: a table in shards learns as one in one piece, with any optimizer") {
  for (const std::string optimizer : {R"({"adam": {"learning_rate": 0.1}})", R"({"adagrad": {"learning_rate": 0.1}})",
                                      R"({"sgd": {"learning_rate": 0.1, "global_clipnorm": 0.01}})",
                                      R"({"adam": {"learning_rate": 0.1, "lazy_rows": true}})"}) {
    INFO(optimizer);
    SmallCluster cut(embeddings(3, optimizer), 2), whole(embeddings(1, optimizer), 1);
    for (const auto& numbers : {std::vector<std::int32_t>{1, 2, 3, 1}, {998, 2, 500, 700}, {1, 1, 1, 1}}) {
      REQUIRE(cut.run("step", {ids(numbers)}));
      REQUIRE(whole.run("step", {ids(numbers)}));
    }
    REQUIRE(cut.run("twice", {ids({1, 2, 3, 4}), ids({3, 2, 998, 4})}));
    REQUIRE(whole.run("twice", {ids({1, 2, 3, 4}), ids({3, 2, 998, 4})}));
    for (const auto& numbers : {std::vector<std::int32_t>{1, 2, 3, 4}, {998, 500, 700, 0}})
      CHECK(tensor::same_bytes(rows_of(cut, numbers), rows_of(whole, numbers)));
  }
}

TEST_CASE("embeddings: only the rows used move, each once") {
  SmallCluster cluster(embeddings(3, kSgd), 3);
  const std::size_t before = cluster.ps_bytes();
  REQUIRE(cluster.run("step", {ids({5, 400, 5, 999})}));
  // Three rows of 16 bytes and their numbers of 8, there and back; the same as the gradient.
  const std::size_t tensors = 3 * (8 + 16) + 3 * (8 + 16);
  const std::size_t moved = cluster.ps_bytes() - before;
  CHECK(moved >= tensors);
  CHECK(moved < tensors + 600);    // names and numbers of six messages
  CHECK(moved < kRows * 16 / 10);  // the table is 16 000 bytes
}
