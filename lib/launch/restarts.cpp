// SPDX-License-Identifier: Apache-2.0
#include "tfd/launch/restarts.hpp"

#include <algorithm>
#include <csignal>

#include "tfd/base/counted.hpp"
#include "tfd/base/text.hpp"
#include "tfd/base/units.hpp"

namespace tfd::launch {

bool Restarts::is_preemption(const process::ExitStatus& status) {
  constexpr int kPreempted = 75;
  return status.signal == SIGTERM || (status.signal == 0 && status.code == kPreempted);
}

std::optional<Duration> Restarts::on_failure(Clock::time_point now, bool counts, const std::string& task,
                                             std::optional<std::int64_t> step) {
  while (!failures_.empty() && now - failures_.front() >= kWindow) failures_.pop_front();
  if (failures_.empty()) died_in_it_.clear();
  if (counts) {
    failures_.push_back(now);
    if (step_ != step) died_in_it_.clear();
    step_ = step;
    if (step_) died_in_it_.push_back(task);
  }
  if (count() > max_failures_ || died_in_it_.size() >= kMostInOneStep) return std::nullopt;
  const Duration lived = now - last_;
  last_ = now;
  return backoff_.next(lived);
}

std::string Restarts::describe(bool counts) const {
  return counts ? fmt::format("failure {}, at most {}", count(), max_failures_) : "a preemption, no failure";
}

std::string Restarts::too_many() const {
  if (died_in_it_.size() >= kMostInOneStep) {
    std::vector<std::string> names;
    for (const std::string& name : died_in_it_)
      if (std::ranges::find(names, name) == names.end()) names.push_back(name);
    return names.size() == 1 ? fmt::format("{} died three times in step {}", names.front(), *step_)
                             : fmt::format("{} died in step {}, three times in all", join_words(names), *step_);
  }
  return fmt::format("{} in {} {} too many (--max-failures {})",
                     counted(static_cast<std::uint64_t>(count()), "failure"), format_duration(kWindow),
                     count() == 1 ? "is" : "are", max_failures_);
}

}  // namespace tfd::launch
