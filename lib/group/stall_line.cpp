// SPDX-License-Identifier: Apache-2.0
#include "stall_line.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "tfd/base/text.hpp"
#include "tfd/base/units.hpp"

namespace tfd::group {
namespace {

constexpr std::size_t kMostNamed = 8;

std::string rounded_seconds(Duration duration) {
  return rounded_duration(std::chrono::duration_cast<std::chrono::seconds>(duration));
}

/// A task's activity as it reports it: "has been at step 23 for 12s".
std::string describe(const task::TaskStatus& status) {
  const std::string time = rounded_seconds(std::chrono::milliseconds(status.doing_ms));
  if (!status.waits_for.empty()) return fmt::format("has waited for {} for {}", printable(status.waits_for), time);
  if (!status.doing.empty()) return fmt::format("has been at {} for {}", printable(status.doing), time);
  return "is up";
}

}  // namespace

bool StallTimer::is_due(Duration waited) {
  if (waited < waited_) next_ = first_;  // another wait
  waited_ = waited;
  if (waited < next_) return false;
  next_ = waited + 3 * first_;
  return true;
}

StallLine::StallLine(const task::TaskStatus& own, const collective::Stalled& wait,
                     const std::vector<std::string>& members)
    : head_(fmt::format("{} has waited {} for ", own.doing.empty() ? wait.call : own.doing,
                        rounded_duration(wait.waited))),
      whom_(wait.whom) {
  for (const int rank : wait.missing)
    if (const auto at = static_cast<std::size_t>(rank); asked_.size() < kMostNamed && at < members.size())
      asked_.push_back(members[at]);
  others_ = wait.missing.size() - asked_.size();
}

void StallLine::answered(const std::string& name, const Result<task::TaskStatus>& status) {
  answers_.push_back(fmt::format("{}, which {}", name, status ? describe(*status) : "doesn't answer"));
}

std::string StallLine::text() const {
  if (asked_.empty()) return head_ + whom_;
  std::string out = fmt::format("{}{}", head_, fmt::join(answers_, ", and for "));
  if (others_ > 0) out += fmt::format(", and for {} more", others_);
  return out;
}

}  // namespace tfd::group
