#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// ParameterServerStrategy of tf.compat.v1: a task's role, the placement of variables, its part of the input. Every
// worker is a client of its own (between-graph) and none waits for another. Only decides; ps_training.hpp trains.
// Thread rule: thread-compatible; one thread creates variables. Source:
// tensorflow/python/distribute/parameter_server_strategy.py, 2.21.
//
//   auto strategy = TFD_TRY(ParameterServerStrategy::make(config, {.kind = "CPU", .count = 2}));
//   strategy.create_variable("w", variable::Aggregation::kMean);   // on ps:0, the next one on ps:1
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "tfd/cluster/cluster_config.hpp"
#include "tfd/strategy/input.hpp"
#include "tfd/variable/replicated.hpp"

namespace tfd::strategy {

/// The devices of this worker, each with one replica.
struct LocalDevices {
  std::string kind = "CPU";
  int count = 1;
};

struct StrategyVariable {
  std::string name;
  int ps = 0;          // position among the parameter servers; 0 without a cluster
  std::string device;  // "/job:ps/task:0"; without a cluster a local one
  variable::Aggregation aggregation = variable::Aggregation::kNone;
  /// With several replicas: their writes are aggregated to one value (TensorFlow's AggregatingVariable).
  bool aggregating = false;
};

class ParameterServerStrategy {
 public:
  /// Makes the strategy; without a cluster everything is in this process. kInvalidArgument: no task type and id in a
  /// cluster, no ps, invalid roles.
  static Result<ParameterServerStrategy> make(cluster::ClusterConfig config, LocalDevices devices);

  /// The cluster's configuration.
  const cluster::ClusterConfig& cluster_resolver() const { return config_; }
  /// Number of this worker's replicas: other workers aren't in sync with it.
  int num_replicas_in_sync() const { return devices_.count; }
  bool is_local() const { return !config_.task; }
  bool is_evaluator() const { return config_.task && config_.task->job == "evaluator"; }
  /// True if the task runs a standard server, not the program.
  bool is_parameter_server() const { return config_.task && config_.task->job == "ps"; }
  /// True for the task that initializes variables; an evaluator initializes its own.
  bool is_chief() const;
  bool should_checkpoint() const { return is_chief(); }
  /// "worker:1"; "local" without a cluster.
  std::string task_name() const;
  /// Every client of the parameter servers, in the order of their input pipelines.
  const std::vector<std::string>& clients() const { return clients_; }
  const std::string& chief_name() const { return clients_.front(); }
  /// Position among clients(); 0 if it isn't a client.
  int client_index() const { return client_index_; }

  std::vector<std::string> worker_devices() const;
  std::vector<std::string> parameter_devices() const;
  /// Tasks that this one communicates with: never other workers.
  std::vector<std::string> device_filters() const;
  /// The InputContext of this task. kInvalidArgument: a parameter server has no input; kNotFound: an evaluator that
  /// isn't in the cluster spec.
  Result<InputContext> input_context() const;

  /// Places a variable round-robin in creation order, or, with `colocate_with`, with that variable, without advancing
  /// the round. kInvalidArgument: the name is taken, or there is no variable `colocate_with`.
  Result<StrategyVariable> create_variable(const std::string& name, variable::Aggregation aggregation,
                                           const std::string& colocate_with = {});
  /// Places the parts round-robin, as variables "name/part_0" and so on.
  Result<std::vector<StrategyVariable>> create_partitioned_variable(const std::string& name,
                                                                    variable::Aggregation aggregation, int parts);
  /// Makes a counter that the first replica of every worker increments.
  Result<StrategyVariable> create_global_step();

 private:
  ParameterServerStrategy(cluster::ClusterConfig config, LocalDevices devices)
      : config_(std::move(config)), devices_(std::move(devices)) {}
  cluster::ClusterConfig config_;  // task absent: local
  LocalDevices devices_;
  std::vector<std::string> clients_;
  int client_index_ = 0;
  std::vector<int> servers_;  // indices of ps tasks
  std::map<std::string, StrategyVariable> variables_;
  int next_ = 0;
};

inline constexpr std::string_view kGlobalStep = "global_step";

}  // namespace tfd::strategy
