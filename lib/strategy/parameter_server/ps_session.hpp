#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// One worker's place in a training on parameter servers: the chief makes or restores the variables, the others wait for
// that, everybody says when it has ended. As TensorFlow's SessionManager, but for a chief that comes back: what the
// others go on training is adopted as it stands. What the workers agree on beside variables is in the coordination
// service of the first parameter server, in the scope of the run: the key "training" (there once the variables are; the
// first step), the key "data" (a seed), and what WorkerGroup has there.
// Private to the room. Thread rule: one thread, but interrupted().
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
  PsSession(const PsProgram& program, const ParameterServerStrategy& strategy, const PsTrainingOptions& options);
  /// What train.interrupts are to call: waits for others, and for what commands print, end. From any thread.
  void interrupted();

  using FindState = std::function<Result<std::optional<variable::Checkpoint>>()>;
  /// The chief's: joins what the parameter servers hold, where it may and there is something to go on with; else begins
  /// with what `find` gives, or the initial values.
  /// `data_seed` as TrainStart has it.
  Result<void> initialise(bool may_adopt, const FindState& find, std::uint64_t data_seed = 0);
  /// The others': until the chief has. kDeadlineExceeded says whom it waited for; kCancelled: interrupted.
  Result<void> attach();
  /// Whether the chief found a training that goes on.
  bool adopted() const { return adopted_; }

  VariableHost& host() { return *host_; }
  /// What the replicas of this worker run with; their lookups ask host().
  Result<step::ReplicaOptions> replica_options();
  /// Of this worker's data, from where it began, joined or came back: all workers that begin together have one order,
  /// of which each takes its part; one that has worked before has another one, so that it doesn't begin with the same.
  /// Of data that are handed out there is one order.
  data::Order data_order() const;
  /// Those of a cluster, where they are handed out.
  std::optional<SplitProvider> split_provider() const;
  /// Where there is a cluster.
  task::ParameterServers& servers() { return *servers_; }
  const std::stop_source& interruption() const { return interrupted_; }
  Result<std::int64_t> read_global_step();
  /// What a step adds to its own updates, which are sent next: the global step.
  void add_counters(std::vector<variable::Update>& updates);

  /// The workers of a training in a cluster.
  task::WorkerGroup& group() { return *group_; }
  // WorkerGroup's, which may be called of a local training too.
  Result<void> check_chief() { return group_ ? group_->check_chief() : Result<void>(); }
  void count_update() {
    if (group_) group_->count_update();
  }
  Result<void> stop_all() {
    stopped_ = true;
    return group_ ? group_->stop_all() : Result<void>();
  }
  /// True once the chief has ended the training before its last step.
  bool stopped() const { return group_ ? group_->has_stopped() : stopped_; }

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
  const PsTrainingOptions& options_;
  std::unique_ptr<task::ParameterServers> servers_;  // none: local
  std::unique_ptr<VariableHost> host_;
  std::optional<task::WorkerGroup> group_;
  std::stop_source interrupted_;
  const std::shared_ptr<const function::CommandStop> stop_data_ =  // with the runner
      std::make_shared<const function::CommandStop>();
  std::uint64_t seen_training_ = 0;  // the key's version when the chief was waited for
  bool adopted_ = false;
  bool stopped_ = false;         // a local training
  std::int64_t first_step_ = 0;  // of the training that this worker belongs to
  std::uint64_t data_seed_ = 0;  // of it
};

}  // namespace tfd::strategy
