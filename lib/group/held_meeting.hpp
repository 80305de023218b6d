#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// A meeting that this task holds, and the requests that wait for its end or, while a generation makes steps, for the
// next one. Private to the room. Thread rule: one thread at a time; answers leave by the transport.
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "meeting.hpp"
#include "tfd/base/deadline.hpp"
#include "tfd/transport/endpoint.hpp"

namespace tfd::group {

/// The message to a member that a meeting has ended without: which ones continue, and which of them it has to reach.
Referral referral_apart(const Meeting& meeting, const MeetingResult& result, const std::string& name);

class HeldMeeting {
 public:
  /// `settle`: how long a first meeting waits for more once enough have come.
  explicit HeldMeeting(Duration settle) : settle_(settle) {}

  bool is_held() const { return meeting_.has_value(); }
  Meeting& meeting() { return *meeting_; }
  bool has_settled() const { return settled_.expired(); }
  /// Begins it, with this task's own request first, and then those of the newcomers.
  void begin(Meeting meeting, const JoinRequest& own);
  /// Lets a task join. Its request is answered when the meeting ends, or at once with the reason why it can't.
  void admit(std::uint64_t connection, const JoinRequest& request, transport::Responder responder);
  /// Answers all that wait, and those that come, with the reason why there will be no group.
  void fail_all(const Error& why);
  /// Lets a task wait for the next meeting.
  void keep(std::uint64_t connection, JoinRequest request, transport::Responder responder);
  bool has_newcomers() const { return !newcomers_.empty(); }
  /// Answers those that wait for the next meeting: this task won't hold it.
  void send_away(const std::string& answer);
  /// Forgets the requests of a connection that has ended.
  void forget(std::uint64_t connection);
  /// Answers all tasks that wait for the end. `stays`: the meeting refuses later ones; else
  /// it no longer exists.
  void end(const std::string& answer, bool stays);
  /// Answers those that the meeting's end leaves out: they are to ask again once they reach the others.
  void send_apart(const MeetingResult& result);

 private:
  struct Waiting {
    int place;
    transport::Responder responder;
    std::string name;
  };
  struct Newcomer {
    JoinRequest request;
    transport::Responder responder;
  };

  const Duration settle_;
  std::optional<Meeting> meeting_;
  Deadline settled_ = Deadline::never();
  std::map<std::uint64_t, Waiting> waiting_;     // in the meeting, by connection
  std::map<std::uint64_t, Newcomer> newcomers_;  // for the next one, by connection
};

}  // namespace tfd::group
