#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// One worker's place in a training on parameter servers: the chief makes or restores the variables, the others wait for
// that, everybody says when it has ended. As TensorFlow's SessionManager, but for a chief that comes back: what the
// others go on training is adopted as it stands. Private to the room. Thread rule: one thread.
#include <functional>
#include <memory>
#include <optional>

#include "bell.hpp"
#include "ps_program.hpp"
#include "sign_of_life.hpp"
#include "tfd/runtime/replica_runner.hpp"
#include "tfd/strategy/ps_training.hpp"
#include "tfd/variable/checkpoint.hpp"
#include "variable_host.hpp"

namespace tfd::strategy {

class PsSession {
 public:
  PsSession(const PsProgram& program, const ParameterServerStrategy& strategy, const PsTrainingOptions& options,
            Bell& bell);

  using FindState = std::function<Result<std::optional<variable::Checkpoint>>()>;
  /// The chief's: joins what the parameter servers hold, where it may and there is something to go on with; else begins
  /// with what `find` gives, or the initial values.
  Result<void> initialise(bool may_adopt, const FindState& find);
  /// The others': until the chief has. kDeadlineExceeded says whom it waited for; kCancelled: interrupted.
  Result<void> attach();
  /// Whether the chief found a training that goes on.
  bool adopted() const { return adopted_; }

  VariableHost& host() { return *host_; }
  /// What the replicas of this worker run with; their lookups ask host().
  Result<runtime::ReplicaOptions> replica_options();
  /// Of this worker's data, from where it began, joined or came back: all workers that begin together have one order,
  /// of which each takes its part; one that has worked before has another one, so that it doesn't begin with the same.
  data::Order data_order() const;
  Result<std::int64_t> read_global_step();
  /// What a step adds to the counters, beside its own updates.
  void add_counters(std::vector<variable::Update>& updates) const;
  /// The same of what is no step: that this worker has pushed something.
  void add_own_update(std::vector<variable::Update>& updates) const;

  /// Says that this worker pushes nothing more.
  Result<void> leave();
  /// The chief's: until all others have left, or an interruption. Not for one that is gone, without a sign of life for
  /// kGone (whoever is started again by then is waited for), nor for one that did nothing for `linger`, or never came.
  /// Says whom it waits for, and who hasn't left.
  Result<void> wait_for_others();
  /// The interrupted chief's: whether all others have left by then, so that nobody needs the parameter servers.
  Result<bool> have_others_left(Deadline deadline);
  /// The chief's: all shall end, before the last step.
  Result<void> stop_all();
  Result<void> dismiss_servers();

 private:
  Result<void> connect();
  Result<std::uint64_t> claim(bool adopt);
  runtime::ParameterServersOptions client_options() const;
  void say(const std::string& line) const;
  Result<bool> find_running();
  Result<bool> goes_on(const program::TrainDef& train);
  Result<void> check_variables();
  struct Other;
  std::optional<std::string> given_up(const Other& other) const;
  std::vector<std::string> missing_of(const tensor::Tensor& ended) const;
  Result<void> come_back();
  variable::Update one_hot(std::string_view variable, std::int64_t value) const;

  const PsProgram& program_;
  const ParameterServerStrategy& strategy_;
  const PsTrainingOptions& options_;
  Bell& bell_;
  std::unique_ptr<runtime::ParameterServers> servers_;  // none: local
  std::unique_ptr<VariableHost> host_;
  std::unique_ptr<SignOfLife> alive_;  // of one that isn't the chief, until it leaves
  bool adopted_ = false;
  std::int64_t first_step_ = 0;   // of the training that this worker belongs to
  std::int64_t own_updates_ = 0;  // in it, before this worker came (back)
};

}  // namespace tfd::strategy
