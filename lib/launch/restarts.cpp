// SPDX-License-Identifier: Apache-2.0
#include "tfd/launch/restarts.hpp"

#include <algorithm>
#include <csignal>

#include "tfd/base/exit_code.hpp"
#include "tfd/base/text.hpp"
#include "tfd/base/units.hpp"

namespace tfd::launch {

bool is_one_cause(const std::string& one, const std::string& other) {
  const std::string &shorter = one.size() < other.size() ? one : other,
                    &longer = one.size() < other.size() ? other : one;
  if (shorter.empty()) return false;
  return longer == shorter || longer.ends_with(": " + shorter);
}

void FailuresTogether::add(const process::ExitStatus& status, const std::string& cause) {
  if (status.code == number_of(ExitCode::kUnavailable) || Restarts::is_preemption(status)) return;
  if (std::ranges::any_of(causes_, [&](const std::string& one) { return is_one_cause(one, cause); })) return;
  if (!cause.empty()) causes_.push_back(cause);
  ++count_;
}

bool Restarts::is_preemption(const process::ExitStatus& status) {
  return status.signal == SIGTERM || (status.signal == 0 && status.code == number_of(ExitCode::kTryAgain));
}

std::optional<Duration> Restarts::on_failure(Clock::time_point now, int failures, const std::string& task,
                                             std::optional<std::int64_t> step) {
  while (!failures_.empty() && now - failures_.front() >= kWindow) failures_.pop_front();
  if (failures_.empty()) died_in_it_.clear();
  failures_.insert(failures_.end(), static_cast<std::size_t>(failures), now);
  if (failures > 0) {
    if (step_ != step) died_in_it_.clear();
    step_ = step;
    if (step_) died_in_it_.push_back(task);
  }
  if (count() > max_failures_ || died_in_it_.size() >= kMostInOneStep) return std::nullopt;
  const Duration lived = now - last_;
  last_ = now;
  return backoff_.next(lived);
}

std::string Restarts::describe(int failures) const {
  if (failures == 0) return "a preemption, no failure";
  if (failures == 1) return fmt::format("failure {}, at most {}", count(), max_failures_);
  return fmt::format("failures {} to {}, at most {}", count() - failures + 1, count(), max_failures_);
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
