#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// A distribution strategy on the devices of this process, OneDeviceStrategy, MirroredStrategy, CentralStorageStrategy
// and TPUStrategy, or on those of several: MultiWorkerMirroredStrategy. It runs a function once per replica, keeps
// variables on all of them, and combines their results. It doesn't train (train_loop.hpp does). Thread rule: one thread
// at a time calls it; within run() its replicas do, on threads of their own. Source: tf.distribute.Strategy,
// tensorflow/python/distribute/distribute_lib.py and collective_all_reduce_strategy.py, 2.21.
//
//   auto strategy = TFD_TRY(Strategy::make({.kind = &kMirroredKind, .devices = function::first_devices(2)}));
//   DistributedVariable* total = TFD_TRY(strategy->create_variable("total", zero, {.aggregation = Aggregation::kSum}));
//   auto count = [&](ReplicaContext& replica, const std::vector<Tensor>& args) -> Result<std::vector<Tensor>> {
//     TFD_TRY(total->assign_add(args[0]));                                        // of both replicas, the sum
//     return std::vector{TFD_TRY(replica.all_reduce(program::Reduce::kMean, args[0]))};
//   };
//   auto means = TFD_TRY(strategy->run(count, {DistributedValue::per_replica({on_first, on_second})}));
//   Tensor mean = TFD_TRY(strategy->reduce(program::Reduce::kMean, means[0]));
//
// Several processes, each a task of the cluster, run the same program: {.kind = &kMultiWorkerMirroredKind,
// .cluster_resolver = config}. Replicas are counted through, by rank; reductions, reads and writes over all of them
// have the same results in all, and sums have the same bits for any distribution of replicas. All make the same calls
// in the same order: creating, reading and writing variables, reduce() and gather(), iterating datasets. They are
// matched by what they do, to values of which dtype and shape, and by the name of the variable, or of the call, if it
// states one: so a program that may make two alike in either order names them. One that differs is an error of all that
// names both, kInvalidArgument; a process that is gone is kUnavailable, with its name; after either every such call
// fails. After errors that are the same in all, they continue. By default a variable's write outside of replicas has
// the chief's value; CommunicationOptions says how long a process waits for the others.
#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "tfd/base/thread_annotations.hpp"
#include "tfd/cluster/cluster_config.hpp"
#include "tfd/data/plan.hpp"
#include "tfd/function/devices.hpp"
#include "tfd/function/function.hpp"
#include "tfd/strategy/communication.hpp"
#include "tfd/strategy/distributed_variable.hpp"
#include "tfd/strategy/input.hpp"
#include "tfd/strategy/kinds.hpp"
#include "tfd/strategy/replica_context.hpp"
#include "tfd/strategy/tpu_plan.hpp"
#include "tfd/strategy/values.hpp"

namespace tfd::step {
class ReplicaThreads;
}

namespace tfd::strategy {

class LocalVariables;
class LoadedProgram;
class ReplicaGroup;

struct StrategyOptions {
  const Kind* kind = &kOneDeviceKind;
  function::DeviceChoice devices = function::first_devices(1);
  /// For TPUStrategy: its plan; the devices are the replicas', replica by replica.
  std::optional<TpuPlan> tpu = {};
  /// Makes an engine with these devices, once the first module is compiled; empty: only C++ functions are run.
  std::function<Result<std::shared_ptr<function::Engine>>()> make_engine = {};
  /// The cluster by which the devices were found, if any; for MultiWorkerMirroredStrategy the one whose chief and
  /// workers are in sync, of which this process is a task.
  std::optional<cluster::ClusterConfig> cluster_resolver = {};
  CommunicationOptions communication = {};  // for MultiWorkerMirroredStrategy
  /// Applies to the distribution of datasets, and to what several processes reduce.
  Compat compat = Compat::kNone;
  // Settings of programs:
  std::string data_root = {};  // relative data paths start here; empty: at the program's directory
  Environment command_environment = {};
};

struct VariableOptions {
  variable::Synchronization synchronization = variable::Synchronization::kAuto;
  variable::Aggregation aggregation = variable::Aggregation::kNone;
  std::optional<bool> trainable = {};
  /// Places the variable on this one's devices. Source: StrategyExtended.colocate_vars_with.
  const DistributedVariable* colocate_with = nullptr;
};

/// Argument of a function, of which each replica gets its component, its element's fields (an argument each), or its
/// copy of a variable.
using Argument = std::variant<DistributedValue, DistributedElement, std::reference_wrapper<const DistributedVariable>>;
using ReplicaFunction =
    std::function<Result<std::vector<tensor::Tensor>>(ReplicaContext&, const std::vector<tensor::Tensor>&)>;

/// Source: tf.distribute.experimental.ValueContext.
struct ValueContext {
  int replica_id_in_sync_group = 0;
  int num_replicas_in_sync = 1;
};

/// Keeps the thread in a strategy's scope until it is destroyed, on the same thread, in reverse order.
class Scope {
 public:
  Scope(Strategy* before, Strategy* strategy);
  Scope(Scope&& other) noexcept : before_(other.before_), is_open_(std::exchange(other.is_open_, false)) {}
  Scope& operator=(Scope&&) = delete;
  ~Scope();

 private:
  Strategy* before_;
  bool is_open_ = true;
};

class Strategy {
 public:
  /// Makes a strategy; of several processes it returns once all have come. kInvalidArgument: parameter servers, which
  /// aren't devices of this process; several replicas for a strategy with one; a repeated device; no TpuPlan for a TPU
  /// system, or one with other devices; a cluster in which this process has no place. Errors of group::Group::form():
  /// kDeadlineExceeded names those that didn't come.
  static Result<std::unique_ptr<Strategy>> make(StrategyOptions options);
  ~Strategy();
  Strategy(const Strategy&) = delete;
  Strategy& operator=(const Strategy&) = delete;

  const Kind& kind() const { return *options_.kind; }
  /// Number of replicas, of all processes together.
  int num_replicas_in_sync() const;
  /// Number of replicas of this process: of a value's components, of a variable's copies.
  std::size_t local_replicas() const { return replicas_; }
  /// True for the process that writes checkpoints and summaries: of several in sync the chief. Source:
  /// StrategyExtended.should_checkpoint, should_save_summary.
  bool should_checkpoint() const;
  bool should_save_summary() const { return should_checkpoint(); }
  /// The cluster's configuration; null if it has none.
  const cluster::ClusterConfig* cluster_resolver() const {
    return options_.cluster_resolver ? &*options_.cluster_resolver : nullptr;
  }
  /// Devices by replica of this process, "/job:localhost/replica:0/task:0/device:CPU:1", or of its task; the first core
  /// of a replica with several. The kind is the plug-in's unless stated. Errors of making the engine.
  Result<std::vector<std::string>> worker_devices();
  /// Devices of the variables.
  Result<std::vector<std::string>> parameter_devices();

  // The rest is for cross-replica context: kFailedPrecondition within a replica, and in another strategy's scope.

  Result<Scope> scope();
  /// Creates a variable with the value `initial`, the chief's, on every replica; it lives as long as the strategy.
  /// kAlreadyExists;
  /// kInvalidArgument: synchronization 'none', the mean of integers, colocation with another strategy's variable.
  Result<DistributedVariable*> create_variable(const std::string& name, const tensor::Tensor& initial,
                                               const VariableOptions& options = {});

  /// Runs the function once on every replica, concurrently. Returns the results, by position; an object that all
  /// replicas return (one made outside) is returned plain. The error of the first replica that failed by itself;
  /// kInvalidArgument: a value whose components aren't as many as the replicas, different numbers of results;
  /// kFailedPrecondition: it is running.
  Result<std::vector<DistributedValue>> run(const ReplicaFunction& function, const std::vector<Argument>& args = {});
  /// Compiles a module to a function for run(). Errors of the engine.
  Result<ReplicaFunction> compile(const hlo::Module& module);
  /// Loads a program's variables and functions in this scope. Both the program and this strategy are borrowed. Errors
  /// of compiling and of initial values; too little memory. Each of several processes loads the same program, and
  /// begins with the chief's initial values.
  Result<std::unique_ptr<LoadedProgram>> load(const program::Program& program);

  /// Reduces a value of all replicas; `value` has this process's, as strategy::reduce() and gather(). With
  /// several processes `name` tells calls apart that are otherwise alike, and the mean of integers is kInvalidArgument,
  /// unless StrategyOptions::compat. A value with fewer components than replicas, which run() of a LoadedProgram
  /// returns if the others had no data, is combined over those; one with more is kInvalidArgument.
  Result<tensor::Tensor> reduce(program::Reduce how, const DistributedValue& value,
                                const std::optional<std::vector<std::int64_t>>& axes = std::nullopt,
                                std::string_view name = {}) const;
  Result<tensor::Tensor> gather(const DistributedValue& value, std::int64_t axis, std::string_view name = {}) const;
  /// Makes a value with a component for each replica of this process.
  Result<DistributedValue> experimental_distribute_values_from_function(
      const std::function<Result<tensor::Tensor>(const ValueContext&)>& value_fn) const;

  /// Distributes a dataset of global batches: replicas share each one's rows, by default as evenly as possible, under
  /// StrategyOptions::compat in TensorFlow's way. One batch per replica is prefetched.
  Result<DistributedDataset> experimental_distribute_dataset(const data::Plan& plan,
                                                             data::DatasetContext context) const;
  /// Distributes an existing dataset of batches.
  Result<DistributedDataset> experimental_distribute_dataset(DatasetPtr dataset) const;
  /// Distributes per-replica batches: nothing is split, each replica takes the next one. kUnimplemented: a dataset for
  /// each replica with another strategy than MirroredStrategy.
  Result<DistributedDataset> distribute_datasets_from_function(
      const DatasetFunction& dataset_fn, InputReplicationMode mode = InputReplicationMode::kPerWorker) const;

  /// Replaces each copy of this process by the function's result for it and its components of the arguments. Source:
  /// StrategyExtended.update.
  Result<void> update(DistributedVariable& variable,
                      const std::function<Result<tensor::Tensor>(const tensor::Tensor& copy,
                                                                 const std::vector<tensor::Tensor>& args)>& make,
                      const std::vector<DistributedValue>& args = {});
  /// Finds the variable with a copy of this name; or null. Source: StrategyExtended.value_container.
  DistributedVariable* value_container(std::string_view copy_name);

 private:
  friend class DistributedVariable;
  friend class LoadedProgram;
  friend class ReplicaContext;
  Strategy(StrategyOptions options, std::shared_ptr<ReplicaGroup> group);
  Result<DistributedVariable*> make_variable(const std::string& name, const tensor::Tensor& initial,
                                             const VariableOptions& options);
  /// The group that datasets agree with; null if this process is alone.
  std::shared_ptr<ReplicaGroup> others() const;
  Result<void> check_outside(std::string_view what) const;
  Result<void> check_here(std::string_view what) const;
  Result<void> check_components(const DistributedValue& value) const;
  Result<std::shared_ptr<function::Engine>> engine();
  Result<void> check_idle() const;
  Result<void> check_replicas(const DistributedValue& value) const;
  Result<std::vector<std::vector<tensor::Tensor>>> components_of(const std::vector<Argument>& args) const;

  StrategyOptions options_;
  std::size_t replicas_;                 // of this process
  std::shared_ptr<ReplicaGroup> group_;  // shared with distributed datasets
  std::unique_ptr<step::ReplicaThreads> threads_;
  std::atomic<bool> is_running_ = false;
  std::shared_ptr<function::Engine> engine_;  // null until first used; shared with the functions it compiled
  Mutex variables_mutex_;                     // of the hosts, also those of loaded programs
  std::unique_ptr<LocalVariables> host_ TFD_GUARDED_BY(variables_mutex_);  // of created variables
  std::map<std::string, std::unique_ptr<DistributedVariable>, std::less<>> variables_;
};

}  // namespace tfd::strategy
