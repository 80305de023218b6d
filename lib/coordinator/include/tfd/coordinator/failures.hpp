#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Whose failure an error is, and which ones pass by themselves: decisions only. TensorFlow reads them from the texts of
// messages, here an Error says what it is (its code) and whose (its task).
// Thread rule: thread-compatible.
// Source: cluster_coordinator.py, 2.21: is_ps_failure, is_worker_failure, _ignore_ps_failures, _ignore_timeout.
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
  kFunction,  // its own: whoever asked for it is told
  kWorker,    // the worker is gone, or ends: what it held goes to others
  kServer,    // a parameter server is gone, or out of reach
  kTimeout,   // of waiting for a parameter server, or for nobody in particular
};
Failure classify(const Error& error);

/// How many reports don't count, as TensorFlow has it; tfd's own way is to ask the parameter server itself.
struct TransientLimits {
  int servers = 3;                   // of each parameter server the 1st and 2nd report pass; 0: none
  std::optional<int> timeouts = {};  // absent: a tenth of the workers
};
/// TF_COORDINATOR_IGNORE_TRANSIENT_PS_FAILURES, TF_COORDINATOR_IGNORE_TRANSIENT_TIMEOUTS. kInvalidArgument names the
/// one that is not a number.
Result<TransientLimits> read_transient_limits(const Environment& env);

class TransientFailures {
 public:
  TransientFailures(TransientLimits limits, int workers)
      : servers_(limits.servers), timeouts_(limits.timeouts.value_or(workers / 10)) {}

  /// Counts the report; true where the closure is to be tried again as if nothing had happened.
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
