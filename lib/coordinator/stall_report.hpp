#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Names waiting tasks, their peers and since when, for errors of deadlines and for stalls, and decides when a stall is
// reported. No lock, clock or socket. Private to the room. Thread rule: thread-compatible; the coordinator's lock
// guards it.
#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "evaluation.hpp"
#include "workers/worker_pool.hpp"

namespace tfd::coordinator {

/// A parameter server that can't be reached; no worker can do without it.
struct AwayServer {
  std::string name;
  Clock::time_point since;
};

/// Names the tasks that hold things up, and the closures that none has yet: "ps:0 (away for 13s) and worker:1 (holds 3
/// closures, last answer 12s ago); 5 more queued". `evaluation` may be null.
std::string describe_waiting(const WorkerPool& workers, const Evaluation* evaluation, std::size_t queued,
                             Clock::time_point now, const std::vector<AwayServer>& away = {});

/// Notices that nothing finishes, from regular looks.
class StallReport {
 public:
  explicit StallReport(Duration after) : after_(after) {}
  /// Records that something has finished, or that a worker became ready.
  void progressed() { has_progressed_ = true; }
  /// Begins the time anew, since work begins now.
  void restart(Clock::time_point now) { since_ = now; }
  /// Looks whether a stall is to be reported: returns for how long nothing has finished. The first report comes after
  /// `after`, the next ones after twice as long each.
  std::optional<std::chrono::seconds> look(bool is_waiting, Clock::time_point now);

 private:
  const Duration after_;
  Duration limit_{};  // until the next report
  bool has_progressed_ = false;
  Clock::time_point since_{};  // time of the last progress, as far as looks have seen it
};

}  // namespace tfd::coordinator
