// SPDX-License-Identifier: Apache-2.0
#include "tfd/launch/restarts.hpp"

#include <csignal>

#include "tfd/base/counted.hpp"
#include "tfd/base/units.hpp"

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

std::string Restarts::describe(bool counts) const {
  return counts ? fmt::format("failure {}, at most {}", count(), max_failures_) : "a preemption, no failure";
}

std::string Restarts::too_many() const {
  return fmt::format("{} in {} {} too many (--max-failures {})",
                     counted(static_cast<std::uint64_t>(count()), "failure"), format_duration(kWindow),
                     count() == 1 ? "is" : "are", max_failures_);
}

}  // namespace tfd::launch
