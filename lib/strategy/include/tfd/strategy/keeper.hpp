#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// What a training keeps of itself, and says of that: checkpoints, what follows from its evaluations, the best state at
// its end. Where the variables are is the caller's. Thread rule: the training's thread.
#include <functional>

#include "tfd/strategy/checkpoints.hpp"
#include "tfd/strategy/judge.hpp"
#include "tfd/strategy/reporter.hpp"

namespace tfd::strategy {

class Keeper {
 public:
  /// `take`: the variables as they are, with the step that they are of.
  Keeper(Checkpoints& checkpoints, Judge& judge, Reporter& report, Judge::TakeState take)
      : checkpoints_(checkpoints), judge_(judge), report_(report), take_(std::move(take)) {}

  /// A checkpoint; one that can't be written is said, and that is all.
  Result<void> save() {
    if (!checkpoints_.are_saved() || !checkpoints_.save(TFD_TRY(take_()))) return {};
    return report_.saved(checkpoints_.step(), checkpoints_.path());
  }
  /// The last one, of this step or a later one, where it isn't there: one that can't be written is an error.
  Result<void> save_last(std::int64_t step) {
    if (!checkpoints_.are_saved() || checkpoints_.step() == step) return {};
    TFD_TRY(save());
    return checkpoints_.step() >= step ? Result<void>() : fail(checkpoints_.not_saved());
  }
  /// What the last evaluation says, of this step; `evaluated` is asked for its state.
  Result<void> judge(std::int64_t step, const Judge::TakeState& evaluated) {
    const auto kept = TFD_TRY(judge_.observe(step, report_.evaluation(), evaluated));
    return kept ? report_.saved(step, *kept, true) : Result<void>();
  }
  Result<void> judge(std::int64_t step) { return judge(step, take_); }
  /// At the end: `import` makes the variables those of the best evaluation, where they are to be and aren't. Its step.
  Result<std::optional<std::int64_t>> restore_best(
      std::int64_t step, const std::function<Result<void>(const variable::Checkpoint&)>& import) {
    const auto best = judge_.best_step();
    if (!best || *best == step) return std::nullopt;
    const variable::Checkpoint state = TFD_TRY(judge_.load_best());
    TFD_TRY(import(state), "the best state");
    report_.say(fmt::format("restored the variables of the best evaluation, at step {}{}", *best,
                            state.path.empty() ? "" : " (" + state.path + ")"));
    report_.restore_evaluation(judge_.best_metrics());
    TFD_TRY(save());
    return best;
  }

 private:
  Checkpoints& checkpoints_;
  Judge& judge_;
  Reporter& report_;
  Judge::TakeState take_;
};

}  // namespace tfd::strategy
