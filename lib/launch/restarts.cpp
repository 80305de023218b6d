// SPDX-License-Identifier: Apache-2.0
#include "tfd/launch/restarts.hpp"

#include <csignal>

namespace tfd::launch {

bool Restarts::is_preemption(const process::ExitStatus& status) {
  constexpr int kPreempted = 75;
  return status.signal == SIGTERM || (status.signal == 0 && status.code == kPreempted);
}

std::optional<Duration> Restarts::on_failure(Clock::time_point now, bool counts) {
  while (!failures_.empty() && now - failures_.front() >= kWindow) failures_.pop_front();
  if (counts) failures_.push_back(now);
  if (count() > max_failures_) return std::nullopt;
  const Duration lived = now - last_;
  last_ = now;
  return backoff_.next(lived);
}

}  // namespace tfd::launch
