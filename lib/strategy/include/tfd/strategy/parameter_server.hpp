#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// ParameterServerStrategy of tf.compat.v1: who one is, where variables go, which part of the input is one's own. Every
// worker is a client by itself (between-graph) and none waits for another. Decides only; ps_training.hpp does it.
// Thread rule: thread-compatible; one thread creates variables.
// Source: tensorflow/python/distribute/parameter_server_strategy.py, 2.21.
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

/// The compute devices of this worker: one replica each.
struct LocalDevices {
  std::string kind = "CPU";
  int count = 1;
};

struct StrategyVariable {
  std::string name;
  int ps = 0;          // position among the parameter servers; 0 without a cluster
  std::string device;  // "/job:ps/task:0"; without a cluster a local one
  variable::Aggregation aggregation = variable::Aggregation::kNone;
  /// Of several replicas: what they write is aggregated to one value (TensorFlow's AggregatingVariable).
  bool aggregating = false;
};

class ParameterServerStrategy {
 public:
  /// Without a cluster: everything is in this process. kInvalidArgument: no task type and id in a cluster, no ps, roles
  /// that aren't valid.
  static Result<ParameterServerStrategy> make(cluster::ClusterConfig config, LocalDevices devices);

  /// Where it has its cluster from.
  const cluster::ClusterConfig& cluster_resolver() const { return config_; }
  /// Of this worker only: others aren't in sync with it.
  int num_replicas_in_sync() const { return devices_.count; }
  bool is_local() const { return !config_.task; }
  bool is_evaluator() const { return config_.task && config_.task->job == "evaluator"; }
  /// Its part is to run a standard server, not the program.
  bool is_parameter_server() const { return config_.task && config_.task->job == "ps"; }
  /// Initialises variables; so does an evaluator, for itself.
  bool is_chief() const;
  bool should_checkpoint() const { return is_chief(); }
  /// "worker:1"; "local" without a cluster.
  std::string task_name() const;
  /// Every client of the parameter servers, in the order of their input pipelines.
  const std::vector<std::string>& clients() const { return clients_; }
  const std::string& chief_name() const { return clients_.front(); }
  /// Position among clients(); 0 of one that is none.
  int client_index() const { return client_index_; }

  std::vector<std::string> worker_devices() const;
  std::vector<std::string> parameter_devices() const;
  /// Tasks that this one talks to: never other workers.
  std::vector<std::string> device_filters() const;
  /// What this task's dataset function is told. kInvalidArgument: a parameter server has no input; kNotFound: an
  /// evaluator that isn't in the cluster spec.
  Result<InputContext> input_context() const;

  /// Round-robin in creation order; with `colocate_with` beside that variable, and the next one goes where it would
  /// have gone anyway. kInvalidArgument: the name is taken, there is nothing of that name to be colocated with.
  Result<StrategyVariable> create_variable(const std::string& name, variable::Aggregation aggregation,
                                           const std::string& colocate_with = {});
  /// Each part takes a turn, as a variable "name/part_0" of its own.
  Result<std::vector<StrategyVariable>> create_partitioned_variable(const std::string& name,
                                                                    variable::Aggregation aggregation, int parts);
  /// A counter that the first replica of every worker increments.
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
