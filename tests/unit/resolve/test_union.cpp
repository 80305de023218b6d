// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include "tfd/resolve/union.hpp"

using namespace tfd;
using namespace tfd::resolve;

namespace {

cluster::ClusterConfig config_of(std::string_view text) { return *cluster::cluster_config_from_json(text, "spec"); }
std::string merged(const std::vector<cluster::ClusterConfig>& configs) {
  const auto config = resolve_union(configs, {});
  return config ? cluster_spec_to_json(config->cluster) : config.error().message;
}

}  // namespace

TEST_CASE("union: lists are appended in order, duplicates kept") {
  CHECK(merged({config_of(R"({"cluster": {"worker": ["a:1", "b:1"]}})"),
                config_of(R"({"cluster": {"ps": ["p:1"], "worker": ["a:1"]}})"),
                config_of(R"({"cluster": {"worker": {"0": "c:1"}}})")}) ==
        R"({"worker": ["a:1", "b:1", "a:1", "c:1"], "ps": ["p:1"]})");
}

TEST_CASE("union: one sparse or empty job keeps all indices") {
  CHECK(merged({config_of(R"({"cluster": {"worker": ["a:1"]}})"), config_of(R"({"cluster": {"worker": {"2": "c:1"}}})"),
                config_of(R"({"cluster": {"worker": {"1": "b:1"}}})")}) == R"({"worker": ["a:1", "b:1", "c:1"]})");
  CHECK(
      merged({config_of(R"({"cluster": {"worker": ["a:1"]}})"), config_of(R"({"cluster": {"worker": []}})"),
              config_of(R"({"cluster": {"worker": ["b:1"]}})")}) ==
      "cluster.worker: [0] of spec 1 is also in spec 3: sparse jobs keep their indices, so each may appear only once");
}

TEST_CASE("union: a clash names the indices and both sources") {
  UnionOptions options;
  options.sources = {"a.json", "b.json", "stdin"};
  const auto clash = resolve_union(
      {config_of(R"({"cluster": {"ps": {"1": "a:1", "7": "b:1"}}})"), config_of(R"({"cluster": {"ps": {"3": "c:1"}}})"),
       config_of(R"({"cluster": {"ps": {"3": "c:1", "7": "d:1", "9": "e:1"}}})")},
      options);
  CHECK(clash.error().code == Code::kAlreadyExists);
  CHECK(clash.error().message ==
        "cluster.ps: [3] of b.json and [7] of a.json are also in stdin: sparse jobs keep their indices, so each may "
        "appear only once");
}

TEST_CASE("union: everything else is the first spec's") {
  const auto config = resolve_union(
      {config_of(
           R"({"cluster": {"worker": ["a:1", "b:1"]}, "task": {"type": "worker", "index": 1}, "rpc_layer": "grpc",)"
           R"( "environment": "google", "num_accelerators": {"GPU": 1}, "resolver": "slurm", "mine": 1})"),
       config_of(R"({"cluster": {"ps": ["p:1"]}, "task": {"type": "ps", "index": 0}, "rpc_layer": "http"})")},
      {});
  REQUIRE(config);
  CHECK(cluster_config_to_json(*config) ==
        R"({"cluster": {"worker": ["a:1", "b:1"], "ps": ["p:1"]}, "task": {"type": "worker", "index": 1}, )"
        R"("rpc_layer": "grpc", "environment": "google", "master": "grpc://b:1", "num_accelerators": {"GPU": 1}, )"
        R"("resolver": "union", "mine": 1})"
        "\n");
}

TEST_CASE("union: a task id of 0 counts, but not for TensorFlow") {
  const auto first = config_of(R"({"cluster": {"ps": ["p:1", "q:1"]}, "task": {"type": "ps", "index": 1}})");
  UnionOptions options;
  options.task_id = 0;
  CHECK(resolve_union({first}, options)->task->index == 0);
  CHECK(resolve_union({first}, options)->master == "p:1");
  options.compat = Compat::kTensorflow;
  CHECK(resolve_union({first}, options)->task->index == 1);
}

TEST_CASE("union: no specs, no tasks, no such task") {
  CHECK(merged({}) == "no cluster specs: at least one is needed");
  CHECK(merged({config_of("{}"), config_of(R"({"cluster": {"worker": []}})")}) ==
        "the cluster is empty: no task in any job");
  UnionOptions options;
  options.task_type = "ps";
  options.task_id = 2;
  CHECK(resolve_union({config_of(R"({"cluster": {"ps": ["p:1"]}})")}, options).error().message ==
        "task ps:2: job 'ps' has 1 task, but none with index 2");
}
