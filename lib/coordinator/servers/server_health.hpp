#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Health of the parameter servers: since when each can't be reached, which failures pass as transient, and what an
// answer to a fence says. A state machine: no lock, clock or socket; names and clients of servers are its owner's.
// Private to the room. Thread rule: thread-compatible; the coordinator's lock guards it.
#include <optional>
#include <string>
#include <vector>

#include "tfd/base/deadline.hpp"
#include "tfd/base/error.hpp"
#include "tfd/coordinator/failures.hpp"

namespace tfd::coordinator {

/// A parameter server of the cluster spec.
struct Server {
  std::string name;
  std::string address;
};

/// Reason for the loss of a parameter server that answers.
inline constexpr const char* kRestarted = "it was restarted and has lost its variables";

class ServerHealth {
 public:
  /// Sets the number of parameter servers, and TensorFlow's handling of failures, if that is wanted; called before the
  /// first event.
  void begin(std::size_t servers, std::optional<TransientLimits> limits, std::size_t workers);

  // Absence.
  /// Records that a server is silent, or disconnected; returns since when it is away, however it went on since.
  Clock::time_point away(std::size_t server, Clock::time_point now);
  /// Records that a server can be reached, as the same process; true if it was away.
  bool back(std::size_t server);
  /// The time since which a server is away; nullopt: it isn't.
  std::optional<Clock::time_point> away_since(std::size_t server) const { return away_since_[server]; }
  /// True if a server is still away, without having been back since.
  bool is_away_since(std::size_t server, Clock::time_point since) const { return away_since_[server] == since; }

  // Failures.
  /// Counts a report of a failure; true if it passes, so that what failed is to be tried again. Without
  /// CoordinatorOptions::transient none passes.
  bool pass(const Error& error) { return transient_ && transient_->pass(error); }
  enum class Fence {
    kAcknowledged,  // later updates are rejected
    kRefused,       // the server is another coordinator's, and rejects all updates of this one
    kRetry,
    kLost,
  };
  /// Judges a server's answer to a fence. One that is disconnected may return unchanged, so it is asked again.
  Fence judge(const Result<void>& fence, const std::string& server);

 private:
  std::vector<std::optional<Clock::time_point>> away_since_;
  std::optional<TransientFailures> transient_;
};

}  // namespace tfd::coordinator
