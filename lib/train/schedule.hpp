#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// A training's schedule: when a checkpoint or an evaluation is due, by steps or since it was asked for, and from which
// step they were made last. The loop does the rest. Private to the room. Thread rule: plain value.
#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>
#include <utility>

namespace tfd::train {

/// The next multiple of `every` after this step; never if that is 0.
inline std::int64_t next_multiple(std::int64_t step, std::int64_t every) {
  return every > 0 ? (step / every + 1) * every : std::numeric_limits<std::int64_t>::max();
}
/// True if a multiple of `every` was passed on the way from one step to another, possibly by another task's step.
inline bool passes_multiple(std::int64_t from, std::int64_t to, std::int64_t every) {
  return every > 0 && to / every > from / every;
}

/// Steps at which the epochs of a training end. By default there are none.
class EpochEnds {
 public:
  static constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::max();

  EpochEnds() = default;
  EpochEnds(std::int64_t epochs, std::int64_t steps)
      : epochs_(epochs > 0 && steps > 0 && steps <= kNever / epochs ? epochs : 0), steps_(steps) {}
  std::int64_t count() const { return epochs_; }
  /// How many epochs have ended by this step.
  std::int64_t ended_by(std::int64_t step) const {
    return epochs_ == 0 ? 0 : std::min(step, steps_) * epochs_ / steps_;
  }
  /// The step at which the next epoch ends.
  std::int64_t next(std::int64_t step) const {
    const std::int64_t ended = ended_by(step);
    return ended == epochs_ ? kNever : ((ended + 1) * steps_ + epochs_ - 1) / epochs_;
  }

 private:
  std::int64_t epochs_ = 0, steps_ = 0;
};

class Schedule {
 public:
  /// Makes one of intervals in steps; 0: nothing is due by steps.
  Schedule(std::int64_t save_every, std::int64_t evaluate_every)
      : save_every_(save_every), evaluate_every_(evaluate_every) {}

  /// Makes evaluations due at the ends of epochs, too.
  void evaluate_after(EpochEnds epochs) { evaluated_epochs_ = epochs; }
  /// The training begins at this step, with nothing due.
  void begin(std::int64_t step) { saved_from_ = evaluated_from_ = step; }
  /// Checkpoints count from this step, at which the newest one was taken.
  void saved(std::int64_t step) { saved_from_ = step; }
  /// Evaluations of an earlier process count: the last one was at this step.
  void evaluated_before(std::int64_t step) { evaluated_from_ = step; }
  void evaluated(std::int64_t step) { evaluated_step_ = evaluated_from_ = step; }
  /// The variables differ from the evaluated ones, though the step is the same.
  void forget_evaluation() { evaluated_step_.reset(); }

  /// Asks for a checkpoint, whatever the step.
  void ask_checkpoint() { is_checkpoint_asked_ = true; }
  bool is_checkpoint_asked() const { return is_checkpoint_asked_; }
  /// Takes the request, which is answered now.
  bool take_request() { return std::exchange(is_checkpoint_asked_, false); }

  bool is_save_due(std::int64_t step) const { return passes_multiple(saved_from_, step, save_every_); }
  bool is_evaluation_due(std::int64_t step) const {
    return passes_multiple(evaluated_from_, step, evaluate_every_) ||
           evaluated_epochs_.ended_by(step) > evaluated_epochs_.ended_by(evaluated_from_);
  }
  /// True if no step was made since the last checkpoint.
  bool is_saved(std::int64_t step) const { return step == saved_from_; }
  /// True if the variables of this step are those that were evaluated last.
  bool is_evaluated(std::int64_t step) const { return evaluated_step_ == step; }
  /// The step after which something is due next.
  std::int64_t next(std::int64_t step) const {
    return std::min(
        {next_multiple(step, save_every_), next_multiple(step, evaluate_every_), evaluated_epochs_.next(step)});
  }

 private:
  std::int64_t save_every_, evaluate_every_;
  EpochEnds evaluated_epochs_;
  std::int64_t saved_from_ = 0, evaluated_from_ = 0;  // the next ones are due at multiples after these
  bool is_checkpoint_asked_ = false;
  std::optional<std::int64_t> evaluated_step_;
};

}  // namespace tfd::train
