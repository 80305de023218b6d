#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// A point in time after which a wait gives up. Every blocking call of tfd takes one. Thread rule: plain value.
#include <chrono>
#include <string>

namespace tfd {

using Clock = std::chrono::steady_clock;
using Duration = std::chrono::nanoseconds;

class Deadline {
 public:
  static Deadline never() { return Deadline(Clock::time_point::max()); }
  static Deadline after(Duration duration);
  static Deadline at(Clock::time_point when) { return Deadline(when); }

  bool is_never() const { return when_ == Clock::time_point::max(); }
  bool expired() const { return !is_never() && Clock::now() >= when_; }
  Clock::time_point when() const { return when_; }
  /// Zero when expired; Duration::max() when never.
  Duration remaining() const;
  /// Timeout for poll(2) and zmq_poll: -1 when never, rounded up so that a poll doesn't return before the deadline.
  int poll_ms() const;
  Deadline earlier_of(Deadline other) const { return when_ <= other.when_ ? *this : other; }

  friend bool operator==(Deadline, Deadline) = default;

 private:
  explicit Deadline(Clock::time_point when) : when_(when) {}
  Clock::time_point when_;
};

}  // namespace tfd
