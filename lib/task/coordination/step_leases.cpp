// SPDX-License-Identifier: Apache-2.0
#include "step_leases.hpp"

#include <algorithm>
#include <iterator>

namespace tfd::task {

NumbersState StepLeases::take(Connection connection, const TakeNumbers& take, const IsApplied& is_applied) {
  if (take.end) end_ = std::min(end_, *take.end);
  if (const auto own = held_.extract(take.client)) give_back(own.mapped(), is_applied);
  returned_.erase(returned_.lower_bound(end_), returned_.end());
  // Leases get smaller towards the end, so that all finish together. Source: Polychronopoulos and Kuck, Guided
  // Self-Scheduling, 1987.
  std::int64_t most = take.most;
  if (end_ < kMostNumber) {
    const std::int64_t left = std::ssize(returned_) + std::max<std::int64_t>(end_ - next_, 0);
    most = std::clamp<std::int64_t>(left / (2 * static_cast<std::int64_t>(take.sharers)), 1, most);
  }
  NumbersState out;
  if (take.most == 0) return out;
  if (!returned_.empty()) {
    out.first = *returned_.begin();
    while (out.count < most && returned_.erase(out.first + out.count) == 1) ++out.count;
  } else if (next_ < end_) {
    out.first = next_;
    out.count = static_cast<std::uint32_t>(std::min(most, end_ - next_));
    next_ += out.count;
  }
  if (out.count > 0)
    held_[take.client] = {connection, take.name, out.first, out.count, take.has_all};
  else
    std::erase_if(held_, [&](const auto& one) {  // clients that did something else after their last lease
      for (std::int64_t i = 0, number = one.second.first; i < one.second.count; ++i, ++number)
        if (number < end_ && !is_applied(number)) return false;
      return true;
    });
  out.is_over = out.count == 0 && held_.empty();
  out.settled = settled();
  return out;
}

bool StepLeases::connection_gone(Connection connection, const IsApplied& is_applied) {
  const auto gone = std::erase_if(held_, [&](const auto& one) {
    const Held& held = one.second;
    if (held.connection != connection) return false;
    // Updates that this task applied last may be missing on other parameter servers.
    give_back(
        held, held.has_all ? is_applied : [](std::int64_t) { return false; });
    return true;
  });
  return gone > 0 && has_news();
}

void StepLeases::give_back(const Held& held, const IsApplied& is_done) {
  for (std::int64_t i = 0, number = held.first; i < held.count && number < end_; ++i, ++number)
    if (!is_done(number)) returned_.insert(number);
}

std::vector<std::string> StepLeases::holders() const {
  std::vector<std::string> out;
  for (const auto& [client, held] : held_) out.push_back(held.name);
  return out;
}

std::int64_t StepLeases::settled() const {
  std::int64_t out = returned_.empty() ? next_ : *returned_.begin();
  for (const auto& [client, held] : held_) out = std::min(out, held.first);
  return out;
}

}  // namespace tfd::task
