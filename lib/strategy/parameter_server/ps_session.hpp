#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// One worker's place in a training on parameter servers: the chief makes or restores the variables, the others wait for
// that, everybody says when it has ended. As TensorFlow's SessionManager, but for a chief that comes back: what the
// others go on training is adopted as it stands. What the workers agree on beside variables is in the coordination
// service of the first parameter server, in the scope of the run: the key "training" (there once the variables are; the
// first step), the key "data" (a seed), the key "stopped", the group "workers", and a counter of each worker's updates.
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
  /// The chief's, before it speaks for the training: kPermissionDenied where another one has come in its place.
  Result<void> check_chief();
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
  /// The same of what is no step: the chief sees that this worker does something.
  void count_update();
  /// Whether the chief has ended the training before its last step.
  bool stopped() const { return stopped_ || (membership_ && membership_->watched().version != 0); }

  /// Says that this worker pushes nothing more.
  Result<void> leave();
  /// The chief's: until all others have left, or an interruption. Not for one whose process is gone for kGone (whoever
  /// is started again by then is waited for), nor for one that did nothing for `linger`, or never came.
  /// Says whom it waits for, and who hasn't left.
  Result<void> wait_for_others();
  /// The interrupted chief's: whether all others have left by then, so that nobody needs the parameter servers.
  Result<bool> have_others_left(Deadline deadline);
  /// The chief's: all shall end, before the last step.
  Result<void> stop_all();
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
  struct Other;
  Result<void> look_at(std::vector<Other>& others, std::uint64_t& version, Deadline deadline);
  std::optional<std::string> given_up(const Other& other) const;
  Result<void> come_back();
  task::CoordinationClient run() { return servers_->coordination(); }

  const PsProgram& program_;
  const ParameterServerStrategy& strategy_;
  const PsTrainingOptions& options_;
  std::unique_ptr<task::ParameterServers> servers_;  // none: local
  std::unique_ptr<VariableHost> host_;
  std::unique_ptr<task::Membership> membership_;  // of one that isn't the chief, until it leaves
  std::stop_source interrupted_;
  const std::shared_ptr<const function::CommandStop> stop_data_ =  // with the runner
      std::make_shared<const function::CommandStop>();
  std::uint64_t seen_training_ = 0;  // the key's version when the chief was waited for
  std::string chief_;                // this process, where it is the chief's
  bool adopted_ = false;
  bool stopped_ = false;
  std::int64_t first_step_ = 0;   // of the training that this worker belongs to
  std::int64_t own_updates_ = 0;  // in it, before this worker came (back)
  std::uint64_t data_seed_ = 0;   // of it
};

}  // namespace tfd::strategy
