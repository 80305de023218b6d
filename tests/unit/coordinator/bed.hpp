#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// A whole cluster in one process: real task servers on the in-process network, functions that are C++ lambdas, and a
// gate that holds functions back until a test opens it.
#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <mutex>
#include <string>
#include <thread>

#include "fake_engine.hpp"
#include "gate.hpp"
#include "temporary_directory.hpp"
#include "tfd/coordinator/cluster_coordinator.hpp"
#include "tfd/task/task_server.hpp"

namespace tfd::bed {

using namespace std::chrono_literals;
using tensor::DType;
using tensor::Tensor;

inline Tensor number(std::int32_t value) { return Tensor::scalar(DType::kS32, value); }
inline std::int32_t number(const Tensor& tensor) { return tensor.as<std::int32_t>()[0]; }

using test::Gate;  // where functions wait

inline constexpr const char* kDocument = R"({"v": 1,
  "variables": {"v": {"shape": [], "dtype": "s32", "init": {"zeros": {}}},
                "n": {"shape": [], "dtype": "s32", "init": {"zeros": {}}},
                "own": {"shape": [], "dtype": "s32", "init": {"constant": {"value": 100}}, "per_worker": true}},
  "datasets": {"threes": [{"tensor_slices": {"fields": {"x": [3, 3, 3]}}}],
               "ten": [{"tensor_slices": {"fields": {"x": [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]}}}],
               "endless": [{"tensor_slices": {"fields": {"x": [1]}}}, {"repeat": {}}]},
  "functions": {
    "double": {"module": "double.mlir", "inputs": [{"arg": 0}], "outputs": [{"result": 0}]},
    "add": {"module": "same.mlir", "inputs": [{"arg": 0}], "outputs": [{"assign_add": "v"}]},
    "add_n": {"module": "same.mlir", "inputs": [{"arg": 0}], "outputs": [{"assign_add": "n"}]},
    "add_and_read": {"module": "same.mlir", "inputs": [{"arg": 0}], "outputs": [{"assign_add": "v"}], "returns": ["v"]},
    "fail": {"module": "fail.mlir", "inputs": [{"arg": 0}], "outputs": [{"assign_add": "v"}]},
    "gated": {"module": "gated.mlir", "inputs": [{"arg": 0}], "outputs": [{"assign_add": "v"}]},
    "next": {"module": "same.mlir", "inputs": [{"arg": 0, "field": "x"}], "outputs": [{"result": 0}]},
    "gated_next": {"module": "gated.mlir", "inputs": [{"arg": 0, "field": "x"}], "outputs": [{"result": 0}]},
    "which_step": {"module": "same.mlir", "inputs": ["step"], "outputs": [{"result": 0}]},
    "peek": {"module": "same.mlir", "inputs": [{"dataset": "ten", "field": "x"}], "outputs": [{"result": 0}]},
    "eval_endless": {"module": "eval.mlir", "inputs": [{"variable": "v"}, {"dataset": "endless", "field": "x"}],
             "outputs": [{"metric": "x"}, {"metric": "one"}]},
    "add_next": {"module": "same.mlir", "inputs": [{"arg": 0, "field": "x"}], "outputs": [{"assign_add": "v"}], "returns": ["v"]},
    "add_own": {"module": "same.mlir", "inputs": [{"arg": 0}], "outputs": [{"assign_add": "own"}], "returns": ["own"]},
    "add_both": {"module": "pair.mlir", "inputs": [{"variable": "own"}, {"kwarg": "b"}],
                 "outputs": [{"assign_add": "own"}, {"assign_add": "v"}]},
    "pair": {"module": "pair.mlir", "inputs": [{"kwarg": "a"}, {"kwarg": "b"}], "outputs": [{"result": 0}, {"result": 1}]},
    "stamp": {"module": "stamp.mlir", "inputs": [{"arg": 0}],
              "outputs": [{"result": 0}, {"assign_add": "v"}, {"assign_add": "n"}], "returns": ["n", "v"]},
    "step": {"module": "step.mlir", "inputs": [{"variable": "v"}, "step"],
             "outputs": [{"metric": "loss"}, {"assign_add": "v"}, {"assign_add": "n"}]},
    "data_step": {"module": "step1.mlir", "inputs": [{"dataset": "ten", "field": "x"}],
             "outputs": [{"metric": "loss"}, {"assign_add": "v"}, {"assign_add": "n"}]},
    "eval": {"module": "eval.mlir", "inputs": [{"variable": "v"}, {"dataset": "ten", "field": "x"}],
             "outputs": [{"metric": "mean_x", "part": "numerator"}, {"metric": "mean_x", "part": "denominator"}]}},
  "train": {"function": "step", "steps": 50, "log_every": 10}})";

inline const std::map<std::string, std::string> kModules{
    {"double.mlir", "module { func.func public @main(%x: tensor<i32>) -> tensor<i32> { } }"},
    {"same.mlir", "module { func.func public @main(%x: tensor<i32>) -> tensor<i32> { } }"},
    {"fail.mlir", "module { func.func public @main(%x: tensor<i32>) -> tensor<i32> { } }"},
    {"gated.mlir", "module { func.func public @main(%x: tensor<i32>) -> tensor<i32> { } }"},
    {"pair.mlir",
     "module { func.func public @main(%a: tensor<i32>, %b: tensor<i32>) -> (tensor<i32>, tensor<i32>) { } }"},
    {"stamp.mlir", "module { func.func public @main(%x: tensor<i32>) -> (tensor<i32>, tensor<i32>, tensor<i32>) { } }"},
    {"step.mlir",
     "module { func.func public @main(%v: tensor<i32>, %s: tensor<i32>) -> (tensor<f32>, tensor<i32>, tensor<i32>) { } "
     "}"},
    {"step1.mlir", "module { func.func public @main(%x: tensor<i32>) -> (tensor<f32>, tensor<i32>, tensor<i32>) { } }"},
    {"seen.mlir", "module { func.func public @main(%x: tensor<i32>) -> (tensor<f32>, tensor<i32>, tensor<i32>) { } }"},
    {"eval.mlir",
     "module { func.func public @main(%v: tensor<i32>, %x: tensor<i32>) -> (tensor<f32>, tensor<f32>) { } }"}};

inline program::Program make_program(std::vector<std::string> overrides = {}) {
  const auto read = [](const std::string& path) -> Result<std::string> { return kModules.at(path); };
  auto program = program::parse_program(kDocument, "test.json", "/", read, {.overrides = std::move(overrides)});
  if (!program) FAIL(program.error().message);
  return std::move(*program);
}

class Bed {
 public:
  explicit Bed(int workers = 2, int servers = 2) : workers_(workers), servers_(servers) {
    for (int i = 0; i < servers; ++i) start("ps:" + std::to_string(i));
    for (int i = 0; i < workers; ++i) start("worker:" + std::to_string(i));
  }
  ~Bed() { gate.open(); }

  Gate gate;
  std::atomic<int> runs{0};                 // of "stamp"
  std::atomic<int> goodbyes{0};             // tasks that were told to stop
  std::map<std::string, int> devices = {};  // of workers that are started from now on; others have one
  std::function<Result<void>(const std::string& task)> before_engine;  // of a worker, on its executor thread
  /// Takes a request to a task in its place, or not (false); on its I/O thread. Set while nothing is asked.
  std::function<bool(const std::string& task, std::uint16_t kind, transport::Responder& responder)> takes;
  std::unique_ptr<transport::InprocNetwork> network = transport::make_inproc_network();

  static std::string address(const std::string& task) {
    return task.substr(0, task.find(':')) + task.substr(task.find(':') + 1) + ":1";
  }

  void start(const std::string& name) { start_at(name, address(name)); }
  void start_at(const std::string& name, const std::string& where) {
    task::TaskServerOptions options;
    options.task = cluster::parse_task(name).value();
    options.bind = where;
    options.make_endpoint = [this, name, make = factory()](transport::EndpointOptions endpoint) {
      endpoint.handler = [this, name, inner = std::move(endpoint.handler)](const transport::Caller& caller,
                                                                           transport::Message request,
                                                                           transport::Responder responder) {
        if (takes && takes(name, request.kind, responder)) return;
        inner(caller, std::move(request), std::move(responder));
      };
      return make(std::move(endpoint));
    };
    options.devices = devices.contains(name) ? devices.at(name) : 1;
    options.make_engine = [this, name, count = options.devices]() -> Result<std::shared_ptr<function::Engine>> {
      if (before_engine) TFD_TRY(before_engine(name));
      return make_engine(count);
    };
    options.on_shutdown = [this] { ++goodbyes; };
    auto started = task::start_task_server(std::move(options));
    if (!started) FAIL(started.error().message);
    if (tasks_[name]) dead_.push_back(std::move(tasks_[name]));  // the one at its former address goes on
    tasks_[name] = std::move(*started);
  }
  /// Kills the task like SIGKILL: its peers see it lost, and its later messages reach no peer.
  void kill(const std::string& name) {
    network->kill(address(name));
    dead_.push_back(std::move(tasks_[name]));
  }

  transport::EndpointFactory factory() {
    return [this](transport::EndpointOptions endpoint) {
      endpoint.heartbeat_interval = 50ms;
      endpoint.heartbeat_timeout = 250ms;
      return network->make_endpoint(std::move(endpoint));
    };
  }

  cluster::ClusterConfig config() const {
    cluster::ClusterConfig config;
    for (int i = 0; i < workers_; ++i) config.cluster.add_task("worker", i, address("worker:" + std::to_string(i)));
    for (int i = 0; i < servers_; ++i) config.cluster.add_task("ps", i, address("ps:" + std::to_string(i)));
    return config;
  }

  coordinator::CoordinatorOptions options() {
    coordinator::CoordinatorOptions options;
    options.make_endpoint = factory();
    options.connect_timeout = 20s;
    options.keep_servers = true;
    return options;
  }

  std::unique_ptr<coordinator::ClusterCoordinator> connect(const program::Program& program,
                                                           coordinator::CoordinatorOptions with) {
    auto coordinator = coordinator::ClusterCoordinator::connect(program, config(), std::move(with));
    if (!coordinator) FAIL(coordinator.error().message);
    const auto alive =
        std::ranges::count_if(tasks_, [](const auto& task) { return task.first.starts_with("worker") && task.second; });
    while ((*coordinator)->workers_up() < alive) std::this_thread::yield();  // it needs one, tests count on all
    return std::move(*coordinator);
  }
  std::unique_ptr<coordinator::ClusterCoordinator> connect() { return connect(make_program(), options()); }
  /// Connects while another coordinator holds the cluster.
  std::unique_ptr<coordinator::ClusterCoordinator> take_over() {
    auto with = options();
    with.take_over = true;
    return connect(make_program(), std::move(with));
  }

 private:
  std::shared_ptr<function::Engine> make_engine(int device_count) {
    using Tensors = std::vector<Tensor>;
    std::map<std::string, kit::Body> bodies;
    bodies["double.mlir"] = [](const Tensors& in) -> Result<Tensors> { return Tensors{number(2 * number(in[0]))}; };
    bodies["same.mlir"] = [](const Tensors& in) -> Result<Tensors> { return Tensors{in[0]}; };
    bodies["fail.mlir"] = [](const Tensors& in) -> Result<Tensors> {
      return fail(Code::kInvalidArgument, "bad {}", number(in[0]));
    };
    bodies["gated.mlir"] = [this](const Tensors& in) -> Result<Tensors> {
      gate.pass();
      return Tensors{in[0]};
    };
    bodies["stamp.mlir"] = [this](const Tensors& in) -> Result<Tensors> {  // no two runs are alike
      const Tensor stamp = number(1000 * runs++ + number(in[0]));
      return Tensors{stamp, stamp, stamp};
    };
    bodies["pair.mlir"] = [](const Tensors& in) -> Result<Tensors> { return Tensors{in[1], in[0]}; };
    bodies["step.mlir"] = [this](const Tensors& in) -> Result<Tensors> {
      gate.pass();
      return Tensors{Tensor::scalar(DType::kF32, static_cast<float>(number(in[1]))), number(1), number(1)};
    };
    bodies["step1.mlir"] = [](const Tensors&) -> Result<Tensors> {
      return Tensors{Tensor::scalar(DType::kF32, 1.0F), number(1), number(1)};
    };
    bodies["seen.mlir"] = [](const Tensors& in) -> Result<Tensors> {
      return Tensors{Tensor::scalar(DType::kF32, static_cast<float>(number(in[0]))), in[0], number(1)};
    };
    bodies["eval.mlir"] = [this](const Tensors& in) -> Result<Tensors> {
      gate.pass();
      return Tensors{Tensor::scalar(DType::kF32, static_cast<float>(number(in[1]))), Tensor::scalar(DType::kF32, 1.0F)};
    };
    return std::make_shared<kit::FakeEngine>(std::move(bodies), device_count);
  }

  int workers_;
  int servers_;
  std::vector<std::unique_ptr<task::TaskServer>> dead_;  // their functions may still run
  std::map<std::string, std::unique_ptr<task::TaskServer>> tasks_;
};

using test::TemporaryDirectory;

}  // namespace tfd::bed
