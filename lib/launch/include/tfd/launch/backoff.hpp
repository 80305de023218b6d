#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// How long to wait before a task that died is started again: doubling while it keeps dying, from the start again once
// it has lived for a while. No clock of its own. Thread rule: plain value.
#include <algorithm>
#include <chrono>

#include "tfd/base/deadline.hpp"

namespace tfd::launch {

class Backoff {
 public:
  static constexpr Duration kFirst = std::chrono::milliseconds(100);
  static constexpr Duration kLongest = std::chrono::seconds(5);
  static constexpr Duration kHealthy = std::chrono::seconds(10);

  /// `lived`: how long the one that just died was up.
  Duration next(Duration lived) {
    if (lived >= kHealthy) next_ = kFirst;
    const Duration wait = next_;
    next_ = std::min(next_ * 2, kLongest);
    return wait;
  }

 private:
  Duration next_ = kFirst;
};

}  // namespace tfd::launch
