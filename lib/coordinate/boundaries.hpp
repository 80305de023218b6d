#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Between which steps of a training nothing may be in flight: its evaluations, checkpoints and end are of a defined
// step. Private to the room. Thread rule: plain value.
#include <algorithm>
#include <limits>

#include "tfd/program/program.hpp"

namespace tfd::coordinate {

class Boundaries {
 public:
  /// `train` must outlive it; its steps may still change.
  explicit Boundaries(const program::TrainDef& train)
      : train_(train),
        save_(train.checkpoint ? train.checkpoint->every_steps : 0),
        evaluate_(train.evaluate ? train.evaluate->every_steps : 0) {}

  bool saves_at(std::int64_t step) const { return is_due(save_, step); }
  bool evaluates_at(std::int64_t step) const { return is_due(evaluate_, step); }
  /// The first one after this step.
  std::int64_t after(std::int64_t step) const {
    std::int64_t next = train_.steps.value_or(std::numeric_limits<std::int64_t>::max());
    for (const std::int64_t every : {save_, evaluate_})
      if (every > 0) next = std::min(next, (step / every + 1) * every);
    return next;
  }

 private:
  static bool is_due(std::int64_t every, std::int64_t step) { return every > 0 && step > 0 && step % every == 0; }

  const program::TrainDef& train_;
  std::int64_t save_;  // 0: not by steps
  std::int64_t evaluate_;
};

}  // namespace tfd::coordinate
