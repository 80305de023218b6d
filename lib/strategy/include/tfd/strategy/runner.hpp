#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// This process's part in a strategy, whatever the strategy is: what tfd-run asks of all of them. A new strategy is a
// row in kinds.hpp and a Runner. Thread rule: train() and run_function() block their thread, which alone calls the
// sinks.
#include <cstdint>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

#include "tfd/base/compat.hpp"
#include "tfd/cluster/cluster_config.hpp"
#include "tfd/strategy/evaluator.hpp"
#include "tfd/strategy/explain.hpp"
#include "tfd/strategy/function_run.hpp"
#include "tfd/strategy/kinds.hpp"
#include "tfd/strategy/run_options.hpp"
#include "tfd/strategy/tpu_plan.hpp"

namespace tfd::strategy {

struct RunnerOptions {
  const Kind* kind = nullptr;          // null: parameter-server in a cluster, else by the number of devices
  cluster::ClusterConfig config = {};  // the cluster and this process's task; no task: everything is in this process
  function::DeviceChoice devices = {};
  int replicas = 0;  // of a training in which several processes share the replicas; 0: one for each device
  std::optional<TpuPlan> tpu = {};
  StepMode step = StepMode::kAuto;
  Compat compat = Compat::kNone;
  bool follows_members = false;  // one replica per device of the present processes
};

enum class TaskJob : std::uint8_t { kTrain, kEvaluate, kServe };

/// A process's role among those of a strategy.
struct RunnerRole {
  std::string task = "local";  // "worker:1"
  TaskJob job = TaskJob::kTrain;
  bool is_chief = true;      // makes the variables and saves checkpoints
  std::int64_t workers = 1;  // number of those that train
};

class Runner {
 public:
  virtual ~Runner() = default;
  virtual const RunnerRole& role() const = 0;
  /// Describes the role: "in this process, 2 replicas".
  virtual Result<std::string> describe() const = 0;
  /// Reason why the variables of a training aren't on the devices; nullopt if they are.
  virtual std::optional<std::string> why_on_host(const program::Program& program) const = 0;
  /// Explains a training (see explain.hpp). `options` needs no strategy, devices or step mode. kUsage: the training is
  /// on a cluster.
  virtual Result<nlohmann::ordered_json> explain(const program::Program& program, ExplainOptions options) const = 0;
  /// Trains program.train, which must exist, or evaluates its checkpoints. Errors of the strategy.
  virtual Result<train::TrainSummary> train(const program::Program& program, RunOptions options) = 0;
  /// Runs one function (see function_run.hpp). Errors of the strategy.
  virtual Result<train::TrainSummary> run_function(const program::Program& program, const RunRequest& request,
                                                   RunOptions options) = 0;
  /// Evaluates one function once (see evaluator.hpp): by this process's devices, or by all members of a group.
  virtual Result<train::TrainSummary> evaluate(const program::Program& program, const EvaluationRequest& request,
                                               RunOptions options) {
    return evaluate_once(program, request, options);
  }
};

/// Makes the runner of a strategy. Errors: those of ParameterServerStrategy::make().
Result<std::unique_ptr<Runner>> make_runner(RunnerOptions options);

}  // namespace tfd::strategy
