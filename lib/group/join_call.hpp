#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// A task's request to join a meeting, and its answer: what the meeting ended with, or whom to ask instead. Private to
// the room. Thread rule: one thread calls; the answer comes on the endpoint's I/O thread, also after the call is gone.
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <variant>
#include <vector>

#include "meeting.hpp"
#include "tfd/base/deadline.hpp"
#include "tfd/base/thread_annotations.hpp"
#include "tfd/base/wait_report.hpp"
#include "tfd/transport/endpoint.hpp"

namespace tfd::group {

/// Answer to a task that would join: the result of the meeting, or the task to ask instead.
using Met = std::variant<MeetingResult, Referral>;

/// Reports awaited members until they meet, then which of the reported ones have come.
class JoinReport {
 public:
  JoinReport(Duration first, const std::function<void(const std::string& line)>& say) : say_(say), wait_(first) {}

  /// They wait from now on.
  void begin();
  Clock::time_point since() const { return wait_.since(); }
  /// `missing`: names, perhaps with what they do: "worker:1 (it is up, but hasn't asked)". kDeadlineExceeded: "waited
  /// 10s for worker:1 to join".
  Result<void> go_on(const std::vector<std::string>& missing, Deadline deadline);
  /// These have come: "worker:1 has joined after 23s", if a line said that it was missing.
  void have_joined(const std::vector<std::string>& names);

 private:
  const std::function<void(const std::string& line)>& say_;
  WaitReport wait_;
  std::set<std::string> said_;  // names of those that lines were about
};

class JoinCall {
 public:
  /// Asks this task. `on_answer` is called once any answer has come. The caller limits the wait,
  /// and knows from awaited() which members it is for.
  JoinCall(transport::Endpoint& endpoint, transport::PeerId host, const JoinRequest& request,
           std::function<void()> on_answer);

  /// Members that the host is still waiting for, as last reported, and their activities; asks it again now and then.
  /// Until it has said so: "the other members".
  std::vector<std::string> awaited();
  bool is_answered() const;
  /// The answer, once it has come. Errors of Meeting::join(), of the transport, and kInvalidArgument: a malformed one.
  Result<Met> answer() const;

 private:
  struct Answer {
    mutable Mutex mutex;
    std::optional<Result<transport::Message>> got TFD_GUARDED_BY(mutex);
    std::vector<std::string> awaited TFD_GUARDED_BY(mutex) = {"the other members"};
  };
  transport::Endpoint& endpoint_;
  const transport::PeerId host_;
  Deadline ask_again_ = Deadline::after(Duration::zero());
  const std::shared_ptr<Answer> answer_ = std::make_shared<Answer>();  // with the endpoint
};

}  // namespace tfd::group
