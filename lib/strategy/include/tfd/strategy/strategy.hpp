#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// A distribution strategy on the devices of this process: OneDeviceStrategy, MirroredStrategy, CentralStorageStrategy
// and TPUStrategy. It runs a function once per replica, keeps variables on all of them, and makes one value of what
// they return. What it doesn't do: train (train_loop.hpp does).
// Thread rule: one thread at a time calls it; within run() its replicas do, on threads of their own.
// Source: tf.distribute.Strategy, tensorflow/python/distribute/distribute_lib.py, 2.21.
//
//   auto strategy = TFD_TRY(Strategy::make({.kind = &kMirroredKind, .devices = function::first_devices(2)}));
//   DistributedVariable* total = TFD_TRY(strategy->create_variable("total", zero, {.aggregation = Aggregation::kSum}));
//   auto count = [&](ReplicaContext& replica, const std::vector<Tensor>& args) -> Result<std::vector<Tensor>> {
//     TFD_TRY(total->assign_add(args[0]));                                        // of both replicas, the sum
//     return std::vector{TFD_TRY(replica.all_reduce(program::Reduce::kMean, args[0]))};
//   };
//   auto means = TFD_TRY(strategy->run(count, {DistributedValue::per_replica({on_first, on_second})}));
//   Tensor mean = TFD_TRY(strategy->reduce(program::Reduce::kMean, means[0]));
#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "tfd/cluster/cluster_config.hpp"
#include "tfd/data/plan.hpp"
#include "tfd/function/devices.hpp"
#include "tfd/function/function.hpp"
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

struct StrategyOptions {
  const Kind* kind = &kOneDeviceKind;
  function::DeviceChoice devices = function::first_devices(1);
  /// Of TPUStrategy: which device is which; the devices are those of its replicas, one after the other.
  std::optional<TpuPlan> tpu = {};
  /// Makes an engine with these devices, once the first module is compiled; empty: only C++ functions are run.
  std::function<Result<std::shared_ptr<function::Engine>>()> make_engine = {};
  /// What the devices were found by, where that is a cluster.
  std::optional<cluster::ClusterConfig> cluster_resolver = {};
  Compat compat = Compat::kNone;  // of how datasets are distributed
  // Of programs.
  std::string data_root = {};  // relative data paths start here; empty: at the program's directory
  Environment command_environment = {};
};

struct VariableOptions {
  variable::Synchronization synchronization = variable::Synchronization::kAuto;
  variable::Aggregation aggregation = variable::Aggregation::kNone;
  std::optional<bool> trainable = {};
  /// On the same devices. Source: StrategyExtended.colocate_vars_with.
  const DistributedVariable* colocate_with = nullptr;
};

/// What a function gets on each replica: its component, its element's fields (an argument each), its copy of a
/// variable.
using Argument = std::variant<DistributedValue, DistributedElement, std::reference_wrapper<const DistributedVariable>>;
using ReplicaFunction =
    std::function<Result<std::vector<tensor::Tensor>>(ReplicaContext&, const std::vector<tensor::Tensor>&)>;

/// Source: tf.distribute.experimental.ValueContext.
struct ValueContext {
  int replica_id_in_sync_group = 0;
  int num_replicas_in_sync = 1;
};

/// A thread is in a strategy's scope until this goes, on the same thread; the last one first.
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
  /// kInvalidArgument: parameter servers, which are no devices of this process; several replicas of a strategy that has
  /// one; a device twice; no TpuPlan of a TPU system, or one of other devices.
  static Result<std::unique_ptr<Strategy>> make(StrategyOptions options);
  ~Strategy();
  Strategy(const Strategy&) = delete;
  Strategy& operator=(const Strategy&) = delete;

  const Kind& kind() const { return *options_.kind; }
  int num_replicas_in_sync() const { return static_cast<int>(replicas_); }
  /// Null: it has no cluster.
  const cluster::ClusterConfig* cluster_resolver() const {
    return options_.cluster_resolver ? &*options_.cluster_resolver : nullptr;
  }
  /// "/job:localhost/replica:0/task:0/device:CPU:1", by replica; of a replica of several cores its first. The kind is
  /// the plug-in's where nobody stated one. Errors of making the engine.
  Result<std::vector<std::string>> worker_devices();
  /// Where variables are.
  Result<std::vector<std::string>> parameter_devices();

  // Everything below is for outside of replicas: kFailedPrecondition within one, and in another strategy's scope.

  Result<Scope> scope();
  /// It begins as `initial` on every replica. It lives as long as the strategy. kAlreadyExists; kInvalidArgument:
  /// synchronization 'none', the mean of integers, a variable of another strategy to be colocated with.
  Result<DistributedVariable*> create_variable(const std::string& name, const tensor::Tensor& initial,
                                               const VariableOptions& options = {});

  /// The function once on every replica, all at the same time. What it returns, by position; where all replicas return
  /// the same object (one that was made outside) that one, plain. The error of the first replica that failed by itself;
  /// kInvalidArgument: a value with other components than there are replicas, results that differ in number;
  /// kFailedPrecondition: it is running.
  Result<std::vector<DistributedValue>> run(const ReplicaFunction& function, const std::vector<Argument>& args = {});
  /// The module, to be run so. Errors of the engine.
  Result<ReplicaFunction> compile(const hlo::Module& module);
  /// A program's variables and functions, in this scope. It is borrowed, as this is. Errors of compiling, of initial
  /// values, and of memory that isn't there.
  Result<std::unique_ptr<LoadedProgram>> load(const program::Program& program);

  /// As strategy::reduce() and gather(). A value of fewer replicas, as run() of a LoadedProgram gives where the others
  /// had no data, is theirs alone; one of more is kInvalidArgument.
  Result<tensor::Tensor> reduce(program::Reduce how, const DistributedValue& value,
                                const std::optional<std::vector<std::int64_t>>& axes = std::nullopt) const;
  Result<tensor::Tensor> gather(const DistributedValue& value, std::int64_t axis) const;
  /// A component for each replica, whatever they are.
  Result<DistributedValue> experimental_distribute_values_from_function(
      const std::function<Result<tensor::Tensor>(const ValueContext&)>& value_fn) const;

  /// A batch is the global one: replicas share its rows, by default as equally as can be, under
  /// StrategyOptions::compat in TensorFlow's way. As many batches are made ahead as there are replicas.
  Result<DistributedDataset> experimental_distribute_dataset(const data::Plan& plan,
                                                             data::DatasetContext context) const;
  /// Of batches that are there already.
  Result<DistributedDataset> experimental_distribute_dataset(DatasetPtr dataset) const;
  /// The function's elements are batches of one replica: nothing is shared, each takes the next one.
  /// kUnimplemented: a dataset for each replica of another strategy than MirroredStrategy.
  Result<DistributedDataset> distribute_datasets_from_function(
      const DatasetFunction& dataset_fn, InputReplicationMode mode = InputReplicationMode::kPerWorker) const;

  /// Each copy becomes what the function gives for it and its components of the arguments. Source:
  /// StrategyExtended.update.
  Result<void> update(DistributedVariable& variable,
                      const std::function<Result<tensor::Tensor>(const tensor::Tensor& copy,
                                                                 const std::vector<tensor::Tensor>& args)>& make,
                      const std::vector<DistributedValue>& args = {});
  /// The variable that has a copy of this name; or null. Source: StrategyExtended.value_container.
  DistributedVariable* value_container(std::string_view copy_name);

 private:
  friend class DistributedVariable;
  friend class LoadedProgram;
  explicit Strategy(StrategyOptions options);
  Result<void> check_outside(std::string_view what) const;
  Result<void> check_here(std::string_view what) const;
  Result<void> check_components(const DistributedValue& value) const;
  Result<std::shared_ptr<function::Engine>> engine();
  Result<void> check_idle() const;
  Result<void> check_replicas(const DistributedValue& value) const;
  Result<std::vector<std::vector<tensor::Tensor>>> components_of(const std::vector<Argument>& args) const;

  StrategyOptions options_;
  std::size_t replicas_;
  std::unique_ptr<step::ReplicaThreads> threads_;
  std::atomic<bool> is_running_ = false;
  std::shared_ptr<function::Engine> engine_;  // null until somebody asks; shared with the functions it compiled
  std::mutex variables_mutex_;                // of the hosts
  std::unique_ptr<LocalVariables> host_;      // of created variables
  std::map<std::string, std::unique_ptr<DistributedVariable>, std::less<>> variables_;
};

}  // namespace tfd::strategy
