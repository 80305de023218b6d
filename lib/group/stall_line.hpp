#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// The line about a long wait: a member's activity, the members it waits for, and theirs. Private to the room. Thread
// rule: plain values, each on one thread at a time.
#include <optional>
#include <string>
#include <vector>

#include "tfd/base/deadline.hpp"
#include "tfd/base/error.hpp"
#include "tfd/collective/communicator.hpp"
#include "tfd/task/status.hpp"

namespace tfd::group {

/// Says when a line about a wait is due: after a while, and from then on every three times as long.
class StallTimer {
 public:
  explicit StallTimer(Duration first) : first_(first) {}
  /// Asked again and again in each wait, with how long it is.
  bool is_due(Duration waited);

 private:
  const Duration first_;
  Duration waited_{}, next_ = first_;
};

/// "step 23 has waited 10s for worker:1, which has waited for its data (cat a.csv) for 9s".
class StallLine {
 public:
  /// `own`: status of the member that waits; `members`: by rank.
  StallLine(const task::TaskStatus& own, const collective::Stalled& wait, const std::vector<std::string>& members);

  /// Names of members to ask for their activity: the first few that are waited for.
  const std::vector<std::string>& asked() const { return asked_; }
  void answered(const std::string& name, const Result<task::TaskStatus>& status);
  bool is_complete() const { return answers_.size() == asked_.size(); }
  std::string text() const;

 private:
  std::string head_;  // "step 23 has waited 10s for "
  std::string whom_;  // if nobody can be asked
  std::size_t others_ = 0;
  std::vector<std::string> asked_, answers_;
};

}  // namespace tfd::group
