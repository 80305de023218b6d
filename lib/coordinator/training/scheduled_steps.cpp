// SPDX-License-Identifier: Apache-2.0
#include "scheduled_steps.hpp"

#include <algorithm>

#include "tfd/train/epochs.hpp"

namespace tfd::coordinator {
namespace {

constexpr std::int64_t kStepsAhead = 8;                       // per worker, so that none waits for this thread
constexpr Duration kTogether = std::chrono::milliseconds(1);  // steps that end within it are counted at once
// Poll interval: nobody is notified when a worker returns a closure without being lost.
constexpr Duration kLook = std::chrono::milliseconds(100);

}  // namespace

Result<void> Steps::schedule_until(std::int64_t boundary) {
  while (scheduled_ < boundary && outstanding() < kStepsAhead * std::max(coordinator_->workers_up(), 1))
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
  call.on_done = [this](const RemoteValue& value) { has_ended(value); };
  auto value = coordinator_->schedule(std::move(call));
  if (!value) {
    if (failed_) return false;  // it has raised: take_rest() finds the failed step
    return fail(std::move(value).error());
  }
  ++scheduled_;
  steps_.push_back(std::move(*value));
  return true;
}

void Steps::has_ended(const RemoteValue& step) {
  if (step.state() != ClosureState::kReady) failed_ = true;
  if (++ended_ >= enough_ || failed_) notifier_.notify();
}

// Waking a thread takes as long as a small step's share of the coordinator: while others have just ended, it sleeps
// until half of those in flight have, or for a moment.
void Steps::wait(Deadline until) {
  if (seen_ != ended_) {
    seen_ = ended_;
    enough_ = seen_ + std::max<std::int64_t>(outstanding() / 2, 1);
    until = Deadline::after(kTogether).earlier_of(until);
  } else {
    enough_ = seen_ + 1;
  }
  if (ended_ < enough_) notifier_.wait(until);
}

std::optional<RemoteValue> Steps::take_next() {
  if (steps_.empty() || steps_.front().state() != ClosureState::kReady) return std::nullopt;
  RemoteValue step = std::move(steps_.front());
  steps_.pop_front();
  ++counted_;
  return step;
}

Result<void> Steps::settle(Deadline deadline) {
  for (enough_ = 0;;) {
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
