#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Parameter servers and asynchronous workers in one process, for a program whose functions are C++ lambdas.
// Thread rule: a test's thread; train() may be called on threads of its own, for different workers.
#include <doctest/doctest.h>

#include <atomic>
#include <filesystem>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "fake_engine.hpp"
#include "temporary_directory.hpp"
#include "tfd/strategy/ps_training.hpp"
#include "tfd/task/parameter_servers.hpp"
#include "tfd/task/task_server.hpp"

namespace tfd::strategy::test {

using nlohmann::json;
using tensor::DType;
using tensor::Tensor;
using Tensors = std::vector<Tensor>;

inline Tensor number(float value) { return Tensor::scalar(DType::kF32, value); }
inline float number(const Tensor& value) { return value.as<float>()[0]; }

/// The parts of a test's program: the document, the signatures of its modules, their functions.
struct Parts {
  std::string document;
  std::map<std::string, std::string> modules;  // "step.mlir" -> "(%x: tensor<f32>) -> tensor<f32>"
  std::map<std::string, kit::Body> bodies;
};

using Directory = tfd::test::TemporaryDirectory;

class Bed {
 public:
  Bed(Parts parts, int workers, int servers)
      : parts_(std::move(parts)), program(parse(parts_)), workers_(workers), servers_count_(servers) {
    for (int i = 0; i < servers; ++i) {
      task::TaskServerOptions options;
      options.task = {"ps", i};
      options.bind = fmt::format("ps{}:1", i);
      options.make_endpoint = endpoints();
      servers_.push_back(task::start_task_server(std::move(options)).value());
    }
  }

  cluster::ClusterConfig config(int worker) const {
    json cluster;
    for (int i = 0; i < workers_; ++i) cluster["worker"].push_back(fmt::format("worker{}:1", i));
    for (int i = 0; i < servers_count_; ++i) cluster["ps"].push_back(fmt::format("ps{}:1", i));
    const json all{{"cluster", cluster}, {"task", {{"type", "worker"}, {"index", worker}}}};
    return cluster::cluster_config_from_json(all.dump(), "test").value();
  }

  /// Blocks until it ends; its events are kept.
  Result<train::TrainSummary> train(int worker, int replicas = 1, std::shared_ptr<train::Interrupts> interrupts = {}) {
    return train_with(ParameterServerStrategy::make(config(worker), {.count = replicas}).value(), replicas,
                      std::move(interrupts));
  }
  /// Runs the evaluator of the same cluster.
  Result<train::TrainSummary> evaluate() {
    auto with = config(0);
    with.cluster.add_task("evaluator", 0, "evaluator0:1");
    with.task = cluster::TaskId{"evaluator", 0};
    return train_with(ParameterServerStrategy::make(with, {}).value(), 1, {});
  }
  Result<train::TrainSummary> train_locally(int replicas) {
    return train_with(ParameterServerStrategy::make({}, {.count = replicas}).value(), replicas, {});
  }

  std::vector<json> events() const {
    const std::scoped_lock lock(mutex_);
    return events_;
  }
  std::vector<json> events_of(const std::string& name) const {
    std::vector<json> out;
    for (const json& event : events())
      if (event["event"] == name) out.push_back(event);
    return out;
  }
  /// The state that a checkpoint of the parameter servers would have, of a training that kept them.
  tensor::NamedTensors state() {
    std::vector<std::pair<std::string, std::string>> ps;
    for (int i = 0; i < servers_count_; ++i) ps.emplace_back(fmt::format("ps:{}", i), fmt::format("ps{}:1", i));
    task::ParameterServersOptions options;
    options.name = "looker";
    options.make_endpoint = endpoints();
    const auto deadline = Deadline::after(std::chrono::seconds(20));
    const auto placement = task::place_variables(program, ps);
    auto all = task::ParameterServers::connect(placement, std::move(options), deadline).value();
    all->set_epoch(all->status(deadline).value().front().epoch);
    return all->export_state(deadline).value();
  }
  Tensor read(const std::string& name) {
    for (const auto& [known, value] : state())
      if (known == name) return value;
    FAIL("no variable " << name);
    return {};
  }

  /// Replaces text in the program's document.
  void replace(const std::string& what, const std::string& with) {
    const auto at = parts_.document.find(what);
    REQUIRE(at != std::string::npos);
    parts_.document.replace(at, what.size(), with);
    program = parse(parts_);
  }

  std::function<void(const json&)> on_event = {};
  std::function<void(const std::string& task)> before_engine = {};  // called after the variables exist
  std::int64_t epoch_elements = 0;
  bool keep_servers = true;
  Duration connect_timeout = std::chrono::seconds(20);  // for trainings from now on

 private:
  static program::Program parse(const Parts& parts) {
    const auto read = [&](const std::string& path) -> Result<std::string> {
      return "module { func.func public @main" + parts.modules.at(path) + " { } }";
    };
    auto program = program::parse_program(parts.document, "test.json", "/", read, {});
    if (!program) FAIL(program.error().message);
    return std::move(*program);
  }

  transport::EndpointFactory endpoints() {
    return [this](transport::EndpointOptions options) { return network_->make_endpoint(std::move(options)); };
  }

  Result<train::TrainSummary> train_with(ParameterServerStrategy strategy, int replicas,
                                         std::shared_ptr<train::Interrupts> interrupts) {
    RunOptions options;
    options.make_endpoint = endpoints();
    options.make_engine = [this, replicas, task = strategy.task_name()]() -> Result<std::shared_ptr<function::Engine>> {
      if (before_engine) before_engine(task);
      return std::make_shared<kit::FakeEngine>(parts_.bodies, replicas);
    };
    options.connect_timeout = connect_timeout;
    options.linger = std::chrono::seconds(20);
    options.keep_servers = keep_servers;
    options.train.interrupts = std::move(interrupts);
    options.train.epoch_elements = epoch_elements;
    options.train.write_event = [this](std::string_view line) -> Result<void> {
      const json event = json::parse(line);
      {
        const std::scoped_lock lock(mutex_);
        events_.push_back(event);
      }
      if (on_event) on_event(event);
      return {};
    };
    return train_on_parameter_servers(program, std::move(strategy), std::move(options));
  }

  Parts parts_;
  std::unique_ptr<transport::InprocNetwork> network_ = transport::make_inproc_network();
  std::vector<std::unique_ptr<task::TaskServer>> servers_;
  mutable std::mutex mutex_;
  std::vector<json> events_;

 public:
  program::Program program;

 private:
  int workers_;
  int servers_count_;
};

inline train::TrainSummary well(Result<train::TrainSummary> summary) {
  if (!summary) FAIL(summary.error().message);
  return std::move(*summary);
}

}  // namespace tfd::strategy::test
