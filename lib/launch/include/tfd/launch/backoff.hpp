#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// How long to wait before a task that died is started again: doubling while it keeps dying, from the start again once
// it has lived for a while. No clock of its own. Thread rule: plain value.
#include <algorithm>
#include <chrono>

#include "tfd/base/deadline.hpp"

namespace tfd::launch {

struct BackoffTimes {
  Duration first;
  Duration longest;
  Duration healthy;  // lived that long, it begins anew
};

class Backoff {
 public:
  /// The times of servers, for which clients wait.
  static constexpr BackoffTimes kServers{std::chrono::milliseconds(100), std::chrono::seconds(5),
                                         std::chrono::seconds(10)};
  explicit Backoff(BackoffTimes times = kServers) : times_(times), next_(times.first) {}

  /// `lived`: how long the one that just died was up.
  Duration next(Duration lived) {
    if (lived >= times_.healthy) next_ = times_.first;
    const Duration wait = next_;
    next_ = std::min(next_ * 2, times_.longest);
    return wait;
  }

 private:
  BackoffTimes times_;
  Duration next_;
};

}  // namespace tfd::launch
