#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// One worker's session in a training on parameter servers: the chief creates or restores the variables, the others wait
// for that, each announces its end. Like TensorFlow's SessionManager, except for a restarted chief: it adopts the
// training that the others continue, unchanged. The workers' agreements besides variables are in the coordination
// service of the first parameter server, in the run's scope: the key "training" (put once the variables exist; the
// first step), the key "data" (a seed), and WorkerGroup's keys. Private to the room. Thread rule: one thread, but
// interrupted().
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>

#include "device/variable_host.hpp"
#include "ps_program.hpp"
#include "split_provider.hpp"
#include "tfd/step/replica_runner.hpp"
#include "tfd/strategy/ps_training.hpp"
#include "tfd/task/parameter_servers.hpp"
#include "tfd/task/worker_group.hpp"
#include "tfd/variable/checkpoint.hpp"

namespace tfd::strategy {

class PsSession {
 public:
  PsSession(const PsProgram& program, const ParameterServerStrategy& strategy, const RunOptions& options);
  /// To be called by train.interrupts: ends waits for others, and for commands' output. From any thread.
  void interrupted();

  using FindState = std::function<Result<std::optional<variable::Checkpoint>>()>;
  /// For the chief: adopts the run on the parameter servers, if it may and there is one to continue; else starts with
  /// the state from `find`, or initial values. `data_seed` as in TrainStart.
  Result<void> initialise(bool may_adopt, const FindState& find, std::uint64_t data_seed = 0);
  /// For the others: waits for the chief to finish `initialise()`. kDeadlineExceeded names the chief; kCancelled:
  /// interrupted.
  Result<void> attach();
  /// True if the chief adopted a training in progress.
  bool adopted() const { return adopted_; }

  VariableHost& host() { return *host_; }
  /// Options of this worker's replicas; their lookups use host().
  Result<step::ReplicaOptions> replica_options();
  /// Order of this worker's data, from where it began, joined or returned: workers that begin together share one order,
  /// of which each takes its part; a worker that has trained before gets another order, so that it doesn't repeat the
  /// same data. Dynamically sharded data have a single order.
  data::Order data_order() const;
  /// Dynamic sharding of a cluster's data; nullopt if they aren't sharded so.
  std::optional<SplitProvider> split_provider() const;
  /// The parameter servers; only with a cluster.
  task::ParameterServers& servers() { return *servers_; }
  const std::stop_source& interruption() const { return interrupted_; }
  Result<std::int64_t> read_global_step();
  /// Adds the global step to a step's updates, which are sent next.
  void add_counters(std::vector<variable::Update>& updates);

  /// The workers of a training in a cluster.
  task::WorkerGroup& group() { return *group_; }
  // WorkerGroup's, which may be called of a local training too.
  Result<void> check_chief() { return group_ ? group_->check_chief() : Result<void>(); }
  void count_update() {
    if (group_) group_->count_update();
  }
  Result<void> stop_all(const std::string& failure = {}) {
    stopped_ = true;
    return group_ ? group_->stop_all(failure) : Result<void>();
  }
  /// Why the training of another worker has failed, which ends this one; empty: none has.
  std::string failure() const { return group_ ? group_->failure() : ""; }
  /// True once the chief has ended the training before its last step, or a worker's has failed.
  bool stopped() const { return group_ ? group_->has_stopped() : stopped_; }

  /// Leaves this text about the training at the first parameter server, whose status has it; doesn't wait.
  void show(const std::string& standing);

  Result<void> dismiss_servers();

 private:
  Result<void> connect();
  Result<void> begin_as_chief(bool may_adopt, const FindState& find, std::optional<variable::Checkpoint>& restored);
  Result<std::uint64_t> claim(bool adopt);
  task::ParameterServersOptions client_options() const;
  void say(const std::string& line) const;
  Result<bool> find_running();
  Result<bool> goes_on(const program::TrainDef& train);
  Result<void> check_variables();
  void wait_for_chief(Deadline deadline);
  Result<void> come_back();
  task::CoordinationClient run() { return servers_->coordination(); }

  const PsProgram& program_;
  const ParameterServerStrategy& strategy_;
  const RunOptions& options_;
  std::unique_ptr<task::ParameterServers> servers_;  // none: local
  std::unique_ptr<VariableHost> host_;
  std::optional<task::WorkerGroup> group_;
  std::stop_source interrupted_;
  const std::shared_ptr<const command::CommandStop> stop_data_ =  // with the runner
      std::make_shared<const command::CommandStop>();
  std::uint64_t seen_training_ = 0;  // the key's version when the wait for the chief ended
  bool adopted_ = false;
  bool stopped_ = false;         // a local training
  std::int64_t first_step_ = 0;  // first step of the training
  std::uint64_t data_seed_ = 0;  // of it
};

}  // namespace tfd::strategy
