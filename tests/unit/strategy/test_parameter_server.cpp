// SPDX-License-Identifier: Apache-2.0
//
// Decisions of ParameterServerStrategy (v1): TensorFlow 2.21's cases (vectors, ps_v1), and the sentences of its page.
#include <doctest/doctest.h>

#include "tfd/strategy/parameter_server.hpp"
#include "tfd/train/training.hpp"
#include "tfd/variable/store.hpp"

namespace tfd::strategy {
namespace {

using Strings = std::vector<std::string>;
using variable::Aggregation;

Result<ParameterServerStrategy> make(const std::string& config, LocalDevices devices = {}) {
  return ParameterServerStrategy::make(cluster::cluster_config_from_json(config, "test").value(), devices);
}

const char* const kWorker0 =
    R"({"cluster": {"worker": ["w0:1", "w1:1"], "ps": ["p0:1", "p1:1"]}, "task": {"type": "worker", "index": 0}})";
const char* const kWorker1 =
    R"({"cluster": {"worker": ["w0:1", "w1:1"], "ps": ["p0:1", "p1:1"]}, "task": {"type": "worker", "index": 1}})";

std::string device_of(ParameterServerStrategy& strategy, const std::string& name, const std::string& beside = {}) {
  return strategy.create_variable(name, Aggregation::kMean, beside).value().device;
}

TEST_CASE("ps_v1, cpu_worker0: the first worker is the chief, its CPU the only replica, variables in turn") {
  auto strategy = make(kWorker0).value();
  CHECK(strategy.num_replicas_in_sync() == 1);
  CHECK(strategy.worker_devices() == Strings{"/job:worker/replica:0/task:0/device:CPU:0"});
  CHECK(strategy.parameter_devices() == Strings{"/job:ps/task:0", "/job:ps/task:1"});
  CHECK(strategy.is_chief());
  CHECK(strategy.should_checkpoint());
  CHECK(device_of(strategy, "a") == "/job:ps/task:0");
  CHECK(device_of(strategy, "b") == "/job:ps/task:1");
  CHECK(device_of(strategy, "c") == "/job:ps/task:0");
  const auto step = strategy.create_global_step().value();
  CHECK(step.device == "/job:ps/task:1");
  CHECK(step.aggregation == Aggregation::kOnlyFirstReplica);
  CHECK(strategy.device_filters() == Strings{"/job:worker/task:0", "/job:ps"});
  CHECK(strategy.input_context().value().num_input_pipelines == 2);
  CHECK(strategy.input_context().value().input_pipeline_id == 0);
  CHECK(strategy.input_context().value().num_replicas_in_sync == 1);
}

TEST_CASE("ps_v1, two_gpus: a replica for every GPU of this worker; a colocated variable takes nobody's turn") {
  auto strategy = make(kWorker1, {.kind = "GPU", .count = 2}).value();
  CHECK(strategy.num_replicas_in_sync() == 2);
  CHECK(strategy.worker_devices() ==
        Strings{"/job:worker/replica:0/task:1/device:GPU:0", "/job:worker/replica:0/task:1/device:GPU:1"});
  CHECK_FALSE(strategy.is_chief());
  CHECK_FALSE(strategy.should_checkpoint());
  CHECK(device_of(strategy, "a") == "/job:ps/task:0");
  CHECK(device_of(strategy, "b") == "/job:ps/task:1");
  CHECK(device_of(strategy, "c", "a") == "/job:ps/task:0");
  CHECK(device_of(strategy, "d") == "/job:ps/task:0");
  CHECK(strategy.create_global_step().value().device == "/job:ps/task:1");
  CHECK(strategy.device_filters() == Strings{"/job:worker/task:1", "/job:ps"});
  CHECK(strategy.input_context().value().input_pipeline_id == 1);
  CHECK(strategy.input_context().value().num_replicas_in_sync == 2);
}

TEST_CASE("ps_v1, chief: a chief trains too, as the first of the input pipelines") {
  auto strategy = make(R"({"cluster": {"worker": ["w0:1", "w1:1"], "ps": ["p0:1", "p1:1"], "chief": ["c:1"]},
                           "task": {"type": "chief", "index": 0}})")
                      .value();
  CHECK(strategy.worker_devices() == Strings{"/job:chief/replica:0/task:0/device:CPU:0"});
  CHECK(strategy.is_chief());
  CHECK(device_of(strategy, "a") == "/job:ps/task:0");
  CHECK(strategy.create_global_step().value().device == "/job:ps/task:1");
  CHECK(strategy.device_filters() == Strings{"/job:chief/task:0", "/job:ps"});
  CHECK(strategy.input_context().value().num_input_pipelines == 3);
  CHECK(strategy.input_context().value().input_pipeline_id == 0);
  CHECK(strategy.clients() == Strings{"chief:0", "worker:0", "worker:1"});
}

TEST_CASE("ps_v1, no_ps: the cluster spec needs to have ps jobs") {
  const auto strategy = make(R"({"cluster": {"worker": ["w:1"]}, "task": {"type": "worker", "index": 0}})");
  REQUIRE_FALSE(strategy);
  CHECK(strategy.error().code == Code::kInvalidArgument);
  CHECK(strategy.error().message == "the cluster spec needs to have `ps` jobs");
}

TEST_CASE("parameter server strategy: the first thing that is wrong is what is said") {
  const auto said = [](const char* config) { return make(config).error().message; };
  CHECK(said(R"({"cluster": {"worker": ["w:1"]}})").find("which task is this?") != std::string::npos);
  CHECK(said(R"({"cluster": {"worker": ["w:1"]}, "task": {"type": "worker", "index": 3}})").find("`ps` jobs") !=
        std::string::npos);
  CHECK(said(R"({"cluster": {"worker": ["w:1"], "ps": ["p:1"]}, "task": {"type": "worker", "index": 3}})")
            .find("`task_id` 3") != std::string::npos);
  CHECK(
      said(R"({"cluster": {"worker": ["w:1"], "ps": ["p:1"], "boss": ["b:1"]}, "task": {"type": "boss", "index": 0}})")
          .find("'boss'") != std::string::npos);
}

TEST_CASE("parameter server strategy: a parameter server is no chief, talks to nobody and has no input") {
  const auto strategy =
      make(R"({"cluster": {"worker": ["w:1"], "ps": ["p:1"]}, "task": {"type": "ps", "index": 0}})").value();
  CHECK(strategy.is_parameter_server());
  CHECK_FALSE(strategy.is_chief());
  CHECK_FALSE(strategy.should_checkpoint());
  CHECK(strategy.worker_devices() == Strings{"/job:ps/replica:0/task:0/device:CPU:0"});
  CHECK(strategy.device_filters().empty());
  CHECK(strategy.input_context().error().code == Code::kInvalidArgument);
}

TEST_CASE("parameter server strategy: each part of a partitioned variable takes a turn") {
  auto strategy = make(kWorker0).value();
  const auto parts = strategy.create_partitioned_variable("t", Aggregation::kMean, 3).value();
  REQUIRE(parts.size() == 3);
  CHECK(parts[0].name == "t/part_0");
  CHECK(parts[0].device == "/job:ps/task:0");
  CHECK(parts[1].device == "/job:ps/task:1");
  CHECK(parts[2].device == "/job:ps/task:0");
  CHECK(device_of(strategy, "a") == "/job:ps/task:1");
  CHECK(strategy.create_partitioned_variable("u", Aggregation::kMean, 0).error().code == Code::kInvalidArgument);
}

TEST_CASE("page: each worker shares a common view for which parameter server a variable is assigned to") {
  auto one = make(kWorker0).value();
  auto other = make(kWorker1, {.kind = "GPU", .count = 4}).value();
  for (const char* name : {"a", "b", "c", "d", "e"}) CHECK(device_of(one, name) == device_of(other, name));
}

TEST_CASE("page: cluster_resolver returns the cluster that it was made with") {
  const auto strategy = make(kWorker1).value();
  CHECK(strategy.cluster_resolver().cluster.num_tasks("ps").value() == 2);
  CHECK(strategy.cluster_resolver().task == cluster::TaskId{"worker", 1});
}

TEST_CASE("parameter server strategy: without a cluster everything is in this process") {
  auto strategy = make(R"({"cluster": {}})", {.kind = "GPU", .count = 2}).value();
  CHECK(strategy.is_local());
  CHECK(strategy.is_chief());
  CHECK(strategy.parameter_devices() == Strings{"/device:CPU:0"});
  CHECK(strategy.worker_devices() == Strings{"/replica:0/task:0/device:GPU:0", "/replica:0/task:0/device:GPU:1"});
  CHECK(strategy.device_filters().empty());
  CHECK(make(R"({"cluster": {}})", {.kind = "GPU", .count = 1}).value().parameter_devices() ==
        Strings{"/replica:0/task:0/device:GPU:0"});
  CHECK(device_of(strategy, "a") == "/device:CPU:0");
}

TEST_CASE("parameter server strategy: an evaluator is a chief for itself and talks to nobody") {
  const auto strategy = make(R"({"cluster": {"worker": ["w:1"], "ps": ["p:1"], "evaluator": ["e:1"]},
                                 "task": {"type": "evaluator", "index": 0}})")
                            .value();
  CHECK(strategy.is_evaluator());
  CHECK(strategy.is_chief());
  CHECK(strategy.device_filters() == Strings{"/job:evaluator/task:0"});
  CHECK(strategy.input_context().value().num_input_pipelines == 1);
}

TEST_CASE("parameter server strategy: names are taken once, and beside something there is") {
  auto strategy = make(kWorker0).value();
  (void)device_of(strategy, "a");
  CHECK(strategy.create_variable("a", Aggregation::kMean).error().code == Code::kInvalidArgument);
  CHECK(strategy.create_variable("b", Aggregation::kMean, "z").error().code == Code::kInvalidArgument);
  CHECK(make(kWorker0, {.kind = "CPU", .count = 0}).error().code == Code::kInvalidArgument);
}

TEST_CASE("page: updates between workers proceed asynchronously, each counted once by its own worker's numbers") {
  using tensor::DType;
  variable::VariableStore store;
  REQUIRE(store.create("n", tensor::Tensor::scalar(DType::kS64, std::int64_t{0})));
  const std::vector<variable::Update> one{
      {variable::UpdateKind::kAssignAdd, "n", tensor::Tensor::scalar(DType::kS64, std::int64_t{1})}};
  for (const std::uint64_t client : {0, 7, 8}) {  // the coordinator's numbers are its own too
    CHECK(store.apply(0, one, client).value());
    CHECK(store.apply(1, one, client).value());
    CHECK_FALSE(store.apply(0, one, client).value());  // sent again
  }
  CHECK(store.read("n").value().as<std::int64_t>()[0] == 6);
}

TEST_CASE("interrupts: a checkpoint is asked for once, a stop stays, and somebody is told") {
  train::Interrupts interrupts;
  int told = 0;
  interrupts.on_ask([&] { ++told; });
  interrupts.ask_checkpoint();
  CHECK(interrupts.take_checkpoint());
  CHECK_FALSE(interrupts.take_checkpoint());
  interrupts.ask_stop();
  CHECK(interrupts.stopping());
  CHECK(told == 2);
}

}  // namespace
}  // namespace tfd::strategy
