// SPDX-License-Identifier: Apache-2.0
#include "early_stopping.hpp"

namespace tfd::train {

EarlyStopping::EarlyStopping(const program::TrainDef& train, Log log)
    : log_(std::move(log)), restores_(train.stop && train.stop->restore_best) {
  if (!train.stop) return;
  best_.emplace(train.stop->by, train.stop->min_delta);
  patience_ = train.stop->patience;
  if (train.checkpoint) record_.emplace(train);
}

void EarlyStopping::resume(std::int64_t step) {
  if (!record_) return;
  const auto state = record_->find(step);
  if (!state) return;
  if (restores_ && state->best_step && !record_->has_best(*state->best_step))
    return log_.warning("the state of the best evaluation, at step {}, is gone: train.stop starts over",
                        *state->best_step);
  best_->restore(state->best, state->since);
  seen_step_ = state->step;
  if (!restores_) return;
  best_step_ = state->best_step;
  best_metrics_ = state->best_metrics;
}

void EarlyStopping::begin_anew() {
  if (record_) record_->forget();
}

Result<void> EarlyStopping::observe(std::int64_t step, const Metrics& metrics, const TakeState& take) {
  if (!best_ || seen_step_ == step) return {};
  const bool is_best = best_->observe(metrics);
  seen_step_ = step;
  if (is_best && restores_) {
    best_state_ = TFD_TRY(take());
    best_step_ = step;
    best_metrics_ = metrics;
    best_is_saved_ = false;
  }
  if (!record_) return {};
  // The state is written before the record, which never names a missing one. A failed write is retried.
  auto written = best_state_ && !best_is_saved_ ? record_->save_best(*best_state_) : Result<void>();
  best_is_saved_ = best_is_saved_ || (best_state_ && written);
  StopState now{.step = step, .since = best_->since(), .best = best_->value()};
  now.best_step = best_step_;
  now.best_metrics = best_metrics_;
  if (written) written = record_->add(std::move(now));
  if (!written) log_.error("cannot save the history of train.stop up to step {}: {}", step, written.error().message);
  return {};
}

Result<variable::Checkpoint> EarlyStopping::load_best() const {
  if (best_state_) return *best_state_;
  return record_->load_best(*best_step_);
}

}  // namespace tfd::train
