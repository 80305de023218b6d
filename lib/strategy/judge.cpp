// SPDX-License-Identifier: Apache-2.0
#include "tfd/strategy/judge.hpp"

#include "stop_record.hpp"

namespace tfd::strategy {

Judge::Judge(const program::TrainDef& train, bool keeps, Log log)
    : log_(std::move(log)), restores_(train.stop && train.stop->restore_best) {
  if (train.stop) {
    stop_by_.emplace(train.stop->by, train.stop->min_delta);
    patience_ = train.stop->patience;
    if (train.checkpoint) record_ = std::make_unique<StopRecord>(train);
  }
  if (keeps && train.checkpoint && train.checkpoint->keep_best) keep_by_.emplace(*train.checkpoint);
}

Judge::~Judge() = default;

void Judge::resume(std::int64_t step) {
  if (!record_) return;
  const auto state = record_->find(step);
  if (!state) return;
  if (restores_ && state->best_step && !record_->has_best(*state->best_step))
    return log_.warning("the state of the best evaluation, at step {}, is gone: train.stop starts over",
                        *state->best_step);
  stop_by_->restore(state->best, state->since);
  seen_step_ = state->step;
  if (!restores_) return;
  best_step_ = state->best_step;
  best_metrics_ = state->best_metrics;
}

void Judge::begin_anew() {
  if (record_) record_->forget();
}

Result<std::optional<std::string>> Judge::observe(std::int64_t step, const Metrics& metrics, const TakeState& take) {
  std::optional<std::string> kept;
  if (keep_by_ && keep_by_->observe(metrics)) {
    auto path = keep_by_->save(TFD_TRY(take()));
    if (path)
      kept = std::move(*path);
    else
      log_.error("cannot write the best checkpoint, of step {}: {}", step, path.error().message);
  }
  if (stop_by_ && seen_step_ != step) TFD_TRY(observe_for_stop(step, metrics, take));
  return kept;
}

Result<void> Judge::observe_for_stop(std::int64_t step, const Metrics& metrics, const TakeState& take) {
  const bool is_best = stop_by_->observe(metrics);
  seen_step_ = step;
  if (is_best && restores_) {
    best_ = TFD_TRY(take());
    best_step_ = step;
    best_metrics_ = metrics;
    best_is_saved_ = false;
  }
  if (!record_) return {};
  // Its state first: a record never names one that isn't there. One that couldn't be written is tried again.
  auto written = best_ && !best_is_saved_ ? record_->save_best(*best_) : Result<void>();
  best_is_saved_ = best_is_saved_ || (best_ && written);
  StopState now{.step = step, .since = stop_by_->since(), .best = stop_by_->value()};
  now.best_step = best_step_;
  now.best_metrics = best_metrics_;
  if (written) written = record_->add(std::move(now));
  if (!written) log_.error("cannot save the history of train.stop up to step {}: {}", step, written.error().message);
  return {};
}

Result<variable::Checkpoint> Judge::load_best() const {
  if (best_) return *best_;
  return record_->load_best(*best_step_);
}

}  // namespace tfd::strategy
