#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// The times of a hundred steps of several replicas, and whether one replica would be faster. A step is timed from the
// moment when its replicas begin to compute until all have updated; the rest of it is exchanging, and waiting for
// others. Thread rule: plain value.
#include <cstddef>
#include <optional>
#include <vector>

#include "tfd/base/deadline.hpp"

namespace tfd::train {

/// Typical durations of a step (medians).
struct StepTime {
  int replicas = 1;
  Duration all{};
  Duration computing{};  // of this process: the function and the update

  /// One replica makes the same step by computing for all of them one after the other, so it is faster if a step takes
  /// longer than that; this says so only if it takes 1.5 times as long.
  bool is_slower_than_one() const { return replicas > 1 && all * 2 > computing * replicas * 3; }
};

class StepTimes {
 public:
  static constexpr std::size_t kSteps = 100;
  static constexpr std::size_t kSkipped = 10;  // the first ones, which compile

  bool wants_more() const { return all_.size() < kSteps; }
  void add(Duration all, Duration computing) {
    if (seen_ < kSkipped) {
      ++seen_;
      return;
    }
    if (!wants_more()) return;
    all_.push_back(all);
    computing_.push_back(computing);
  }
  /// Times of other replicas than before count from the beginning.
  void restart() { *this = {}; }
  /// nullopt: too few steps were made.
  std::optional<StepTime> typical(int replicas) const;

 private:
  std::size_t seen_ = 0;
  std::vector<Duration> all_, computing_;
};

}  // namespace tfd::train
