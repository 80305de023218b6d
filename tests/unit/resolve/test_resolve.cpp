// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include "tfd/resolve/masters.hpp"
#include "tfd/resolve/resolver.hpp"

using namespace tfd;
using namespace tfd::resolve;

namespace {
Result<cluster::ClusterConfig> tf_config(const char* text, TfConfigOptions options = {}) {
  Environment env;
  if (text != nullptr) env.set("TF_CONFIG", text);
  return resolve_tf_config(env, options);
}
}  // namespace

TEST_CASE("local: loopback and port 0, jobs in the order given") {
  const auto config = resolve_local({{"worker", 2}, {"ps", 1}}, cluster::TaskId{"ps", 0});
  REQUIRE(config);
  CHECK(cluster::cluster_config_to_json(*config) ==
        R"({"cluster": {"worker": ["127.0.0.1:0", "127.0.0.1:0"], "ps": ["127.0.0.1:0"]}, )"
        R"("task": {"type": "ps", "index": 0}, "resolver": "local"})"
        "\n");
  CHECK(resolve_local({{"worker", 2}}, cluster::TaskId{"worker", 2}).error().message ==
        "task worker:2: job 'worker' has 2 tasks, but none with index 2");
  CHECK(resolve_local({{"worker", 2}}, cluster::TaskId{"wroker", 0}).error().message ==
        "task wroker:0: no job 'wroker' in the cluster, did you mean 'worker'?");
  CHECK(resolve_local({{"worker", 0}}, std::nullopt).error().message == "the cluster is empty: no task in any job");
}

TEST_CASE("simple: the master given, else the own task's") {
  SimpleOptions options{.jobs = {{"worker", {"a:1", "b:1"}}, {"worker", {"c:1"}}},
                        .task = cluster::TaskId{"worker", 2},
                        .rpc_layer = "grpc"};
  CHECK(*resolve_simple(options)->master == "grpc://c:1");
  options.master = "m:9";
  CHECK(*resolve_simple(options)->master == "grpc://m:9");
  options.jobs[0].second[0] = "a:70000";
  CHECK(resolve_simple(options).error().message == "cluster.worker[0]: port 70000 out of range");
}

TEST_CASE("tf-config: unset is no cluster, and an empty cluster for TensorFlow") {
  CHECK(tf_config(nullptr).error().code == Code::kFailedPrecondition);
  const auto empty = tf_config(nullptr, {.compat = Compat::kTensorflow});
  REQUIRE(empty);
  CHECK(empty->cluster.empty());
  CHECK(*empty->master == "");
}

TEST_CASE("tf-config: arguments override, a master of another task goes") {
  const char* text =
      R"({"cluster": {"worker": ["a:1", "b:1"]}, "task": {"type": "worker", "index": 0}, "master": "a:1", "k": 1})";
  CHECK(*tf_config(text)->master == "a:1");
  const auto config = tf_config(text, {.task_id = 1, .rpc_layer = "grpc"});
  REQUIRE(config);
  CHECK(config->task == cluster::TaskId{"worker", 1});
  CHECK(*config->master == "grpc://b:1");
  CHECK(config->extra == R"({"k": 1})");
  CHECK_FALSE(tf_config(R"({"cluster": {"worker": ["a:1"]}})", {.task_id = 0}));
}

TEST_CASE("tf-config: what is wrong is named") {
  const auto why = [](const char* text) { return tf_config(text).error().message; };
  CHECK(why("").starts_with("TF_CONFIG: not JSON"));
  CHECK(why("{}") == "TF_CONFIG: the cluster is empty: no task in any job");
  CHECK(why(R"({"cluster": {"worker": ["a:70000"]}})") == "TF_CONFIG: cluster.worker[0]: port 70000 out of range");
  CHECK(why(R"({"cluster": {"worker": ["a:1"]}, "task": {"type": "ps", "index": 0}})") ==
        "TF_CONFIG: task ps:0: no job 'ps' in the cluster");
  CHECK(tf_config(R"({"cluster": {"worker": ["a:1"]}, "task": {"type": "evaluator", "index": 0}})"));
}

TEST_CASE("tf-config view: each property fails alone") {
  const TfConfigView view(
      std::string(R"({"cluster": null, "task": {"type": "worker", "index": "one"}, "rpc_layer": "grpc"})"), {});
  CHECK_FALSE(view.cluster_spec());
  CHECK(**view.task_type() == "worker");
  CHECK_FALSE(view.task_id());
  CHECK(**view.rpc_layer() == "grpc");
  CHECK_FALSE(view.master({}));
}

TEST_CASE("tf-config view: a single sparse task has a master, a single dense one has none") {
  const TfConfigView sparse(
      std::string(R"({"cluster": {"worker": {"3": "h:1"}}, "task": {"type": "worker", "index": 3}})"), {});
  CHECK(*sparse.master({}) == "h:1");
  const TfConfigView dense(std::string(R"({"cluster": {"worker": ["h:1"]}})"), {});
  CHECK(*dense.master({"ps", 5, "x"}) == "");
  const TfConfigView empty_job(std::string(R"({"cluster": {"worker": []}})"), {});
  CHECK_FALSE(empty_job.master({}));
}

TEST_CASE("tf-config view: accelerators by substring, as TensorFlow counts") {
  const TfConfigView view(
      std::string(R"({"cluster": {"worker": ["a:1", "b:1"]}, "task": {"type": "worker", "index": 1}})"), {});
  const std::vector<std::string> devices{
      "/job:worker/replica:0/task:1/device:GPU:0", "/job:worker/replica:0/task:10/device:GPU:0",
      "/job:worker/replica:0/task:1/device:TPU:0", "/job:worker/replica:0/task:1/device:XLA_CPU:0"};
  CHECK(*view.num_accelerators(devices, {}) == std::map<std::string, int>{{"GPU", 2}, {"TPU", 1}});
  CHECK_FALSE(view.num_accelerators(devices, {"ps", 0, {}}));
}
