#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Serves the coordination service (tfd/task/coordination.hpp) in a task: carries out the decisions of CoordinationState
// and EpochClaims with responders, timers and pings. Requests without an epoch are about the process, others about the
// task's run; TaskServer has checked their epochs. Thread rule: lives on the endpoint's I/O thread.
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "coordination_state.hpp"
#include "messages/protocol.hpp"

namespace tfd::task {

class CoordinationService {
 public:
  using Ping = std::function<void(std::uint64_t connection, std::function<void(bool answers)>)>;
  using PostAt = std::function<void(Clock::time_point, std::function<void()>)>;
  /// `name` is the task's; `is_applied` as in CoordinationState.
  CoordinationService(std::string name, Ping ping, PostAt post_at, IsApplied is_applied);

  void handle(const transport::Caller& caller, const transport::Message& request, transport::Responder responder);
  /// Handles a claim: answers with an epoch; kPermissionDenied names the holder of the cluster. `loaded` as in
  /// EpochClaims.
  void claim(const transport::Caller& caller, Claim claim, std::uint64_t loaded, transport::Responder responder,
             std::optional<std::uint64_t> answered = {});
  /// Connection of the cluster's holder.
  std::optional<std::uint64_t> holder() const { return epochs_.holder(); }
  void caller_gone(const transport::Caller& caller);
  /// Answers clients that wait for numbers, if this task's latest update leaves them something to do.
  void updated();
  /// Sets the epoch of the task's run; if it is another one, the former's scope ends.
  void run_is(std::uint64_t epoch);
  /// Value of kStandingKey; empty if it was never put.
  std::string standing() const { return run_.value_of(kStandingKey); }
  /// How long ago it was put.
  Duration standing_age() const { return Clock::now() - standing_put_; }

 private:
  using Ticket = CoordinationState::Ticket;
  /// A pending request.
  struct Waiting {
    transport::Responder responder;
    CoordinationState* state = nullptr;
    Clock::time_point until{};
  };
  void reply(CoordinationState::Replies replies);
  void forget(std::map<Ticket, Waiting>::iterator waiting);
  void wake_for_next();
  void end_waits();

  std::string name_;
  Ping ping_;
  PostAt post_at_;
  IsApplied is_applied_;
  EpochClaims epochs_;
  CoordinationState process_;
  CoordinationState run_;
  std::uint64_t epoch_ = 0;              // of run_
  Clock::time_point standing_put_ = {};  // of run_
  Ticket next_ticket_ = 0;
  std::map<Ticket, Waiting> unanswered_;
  std::set<std::pair<Clock::time_point, Ticket>> ends_;  // of their waits
  std::set<Clock::time_point> wakes_;                    // that were asked for
};

}  // namespace tfd::task
