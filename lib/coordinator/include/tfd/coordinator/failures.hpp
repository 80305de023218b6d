#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Attributes an error to the closure, a worker or a parameter server, and decides which errors are transient.
// TensorFlow parses messages for that; here an Error has a code and a task. Thread rule: thread-compatible. Source:
// cluster_coordinator.py, 2.21: is_ps_failure, is_worker_failure, _ignore_ps_failures, _ignore_timeout.
//
//   classify({Code::kUnavailable, "…", "ps:1"}) == Failure::kServer
//   TransientFailures transient({.servers = 3}, 4);   // the third report of a parameter server counts
#include <map>
#include <optional>
#include <string>

#include "tfd/base/environment.hpp"
#include "tfd/base/error.hpp"

namespace tfd::coordinator {

enum class Failure {
  kFunction,  // the closure's own: reported to its caller
  kWorker,    // the worker is gone, or ending: its closures are migrated
  kServer,    // a parameter server is gone, or unreachable
  kTimeout,   // a timeout, of a parameter server or unattributed
};
Failure classify(const Error& error);

/// Number of reports that are ignored, as in TensorFlow; by default tfd asks the parameter server itself.
struct TransientLimits {
  int servers = 3;                   // the 1st and 2nd report about each parameter server are ignored; 0: none
  std::optional<int> timeouts = {};  // absent: a tenth of the workers
};
/// Reads TF_COORDINATOR_IGNORE_TRANSIENT_PS_FAILURES and TF_COORDINATOR_IGNORE_TRANSIENT_TIMEOUTS. kInvalidArgument
/// names one that isn't a number.
Result<TransientLimits> read_transient_limits(const Environment& env);

class TransientFailures {
 public:
  TransientFailures(TransientLimits limits, int workers)
      : servers_(limits.servers), timeouts_(limits.timeouts.value_or(workers / 10)) {}

  /// Counts the report; true if the closure is to be retried as if nothing had happened.
  bool pass(const Error& error);
  int reports_of(const std::string& server) const;
  int timeouts() const { return seen_timeouts_; }

 private:
  int servers_;
  int timeouts_;
  std::map<std::string, int, std::less<>> reports_;
  int seen_timeouts_ = 0;
};

}  // namespace tfd::coordinator
