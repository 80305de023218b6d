// SPDX-License-Identifier: Apache-2.0
#include "scheduled_steps.hpp"

#include <algorithm>

#include "tfd/train/epochs.hpp"

namespace tfd::coordinator {
namespace {

constexpr std::int64_t kStepsAhead = 4;  // per worker, so that no worker waits for the training's thread
// Poll interval: nobody is notified when a worker returns a closure without being lost.
constexpr Duration kLook = std::chrono::milliseconds(100);

}  // namespace

Result<void> Steps::schedule_until(std::int64_t boundary) {
  const std::int64_t most = kStepsAhead * std::max(coordinator_->workers_up(), 1);
  while (scheduled_ < boundary && outstanding() < most)
    if (!TFD_TRY(schedule(scheduled_))) return {};
  return {};
}

Result<void> Steps::finish(const std::vector<AdoptedRun::Unfinished>& unfinished) {
  for (const auto& one : unfinished)
    if (!TFD_TRY(schedule(one.step, one.sequence))) return {};
  return {};
}

// Schedules a step; false if one has failed meanwhile.
Result<bool> Steps::schedule(std::int64_t step, std::optional<std::uint64_t> sequence) {
  Call call{.function = train_.function, .step = step, .replicas = train_.replicas};
  if (elements_ > 0) call.most_elements = train::elements_of_step(step, elements_, replicas_);
  call.sequence = sequence;
  call.on_done = [this](const RemoteValue& value) {
    if (value.state() != ClosureState::kReady) failed_ = true;
    ++ended_;
    notifier_.notify();
  };
  auto value = coordinator_->schedule(std::move(call));
  if (!value) {
    if (failed_) return false;  // it has raised: take_rest() finds the failed step
    return fail(std::move(value).error());
  }
  ++scheduled_;
  steps_.push_back(std::move(*value));
  return true;
}

std::optional<RemoteValue> Steps::take_next() {
  if (steps_.empty() || steps_.front().state() != ClosureState::kReady) return std::nullopt;
  RemoteValue step = std::move(steps_.front());
  steps_.pop_front();
  ++counted_;
  return step;
}

Result<void> Steps::settle(Deadline deadline) {
  for (;;) {
    coordinator_->drop_queued();
    if (coordinator_->in_flight() == 0 || coordinator_->lost() || deadline.expired()) break;
    notifier_.wait(Deadline::after(kLook).earlier_of(deadline));
  }
  return coordinator_->join(deadline);
}

Steps::Rest Steps::take_rest() {
  Rest rest;
  for (const RemoteValue& step : steps_) {
    if (step.state() == ClosureState::kReady) {
      rest.done.push_back(step);
      ++counted_;
    } else if (!rest.error && step.state() == ClosureState::kError) {
      rest.error = step.error();
    }
  }
  steps_.clear();
  scheduled_ = counted_;
  return rest;
}

}  // namespace tfd::coordinator
