// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include "small_cluster.hpp"
#include "tfd/step/memory_need.hpp"

namespace tfd::task {
namespace {

/// `w` has a gradient, `n` none; `big` is in two shards.
program::Program program_with_big(const std::string& rows_of_big) {
  return test::parse({R"({"v": 1, "optimizer": {"adam": {"learning_rate": 0.1}},
    "variables": {"w": {"shape": [10], "dtype": "f16", "init": {"zeros": {}}},
                  "n": {"shape": [], "dtype": "s64", "init": {"zeros": {}}},
                  "big": {"shape": [)" +
                          rows_of_big +
                          R"(, 2], "init": {"zeros": {}}, "partitioner": {"fixed_shards": {"num_shards": 2}}},
                  "own": {"shape": [5], "init": {"zeros": {}}, "per_worker": true}},
    "functions": {"step": {"module": "step.mlir", "inputs": [{"variable": "w"}], "outputs": [{"gradient": "w"}]}}})",
                      {{"step.mlir", "(%w: tensor<10xf16>) -> tensor<10xf16>"}},
                      {}});
}

TEST_CASE("memory: values and slots of all variables, of each parameter server, of a worker") {
  const auto program = program_with_big("3");
  const step::MemoryNeed all = step::need_of(program);
  CHECK(all.variables == 4);
  CHECK(all.values == 20 + 8 + 24 + 20);
  CHECK(all.slots == 2 * 40);  // Adam's two, in f32
  CHECK(all.largest == "w");
  CHECK(step::describe_need(all) == "4 variables, 152 bytes, 80 bytes of that for slots");
  const auto servers = step::needs_of_servers(program, 2);
  REQUIRE(servers.size() == 2);
  CHECK(servers[0].total() == 20 + 80 + 16);  // two rows of big
  CHECK(servers[1].total() == 8 + 8);
  CHECK(step::describe_need(servers[1]) == "2 variables, 16 bytes");
  CHECK(step::need_of_worker(program).total() == 20);
  const step::MemoryNeed two = step::need_of_replicas(program, 2);
  CHECK(two.values == 2 * all.values);
  CHECK(two.slots == 2 * all.slots);
  CHECK(two.total() == 2 * all.total() + 40);  // w's slots are larger than any value
  CHECK(two.largest_size == 2 * all.largest_size);
}

TEST_CASE("memory: too little is said with the variable that takes most") {
  const step::MemoryNeed need = step::need_of(program_with_big("3"));
  CHECK(step::check_memory(need, "here", Bytes{152}));
  CHECK(step::check_memory(need, "here", std::nullopt));
  const auto sum = step::check_memory(need, "on ps:0", Bytes{151});
  REQUIRE_FALSE(sum);
  CHECK(sum.error().code == Code::kResourceExhausted);
  CHECK(sum.error().message == "the variables need 152 bytes ('w' alone: 100 bytes) on ps:0, where 151 bytes are free");
  CHECK(step::check_memory(need, "here", Bytes{99}).error().message ==
        "variable 'w' needs 100 bytes here, where 99 bytes are free");
}

TEST_CASE("memory: a parameter server refuses what doesn't fit before it takes any") {
  const test::Parts parts{
      R"({"v": 1, "variables": {"v": {"shape": [20000000000000], "init": {"zeros": {}}}}})", {}, {}};
  const auto program = test::parse(parts);
  const auto refused = step::check_memory(step::needs_of_servers(program, 1).front(), "on ps:0");
  REQUIRE_FALSE(refused);
  CHECK(refused.error().message.starts_with("variable 'v' needs 80 TB on ps:0, where "));
}

}  // namespace
}  // namespace tfd::task
