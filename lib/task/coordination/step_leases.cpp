// SPDX-License-Identifier: Apache-2.0
#include "step_leases.hpp"

#include <algorithm>
#include <iterator>

#include "tfd/base/text.hpp"

namespace tfd::task {
namespace {

constexpr std::size_t kMostHolders = 8;  // named in an answer

}  // namespace

void LeaseTable::add(std::uint64_t client, Lease lease) {
  by_number_.emplace(lease.first, client);
  by_connection_.add(lease.connection, client);
  leases_.emplace(client, std::move(lease));
}

std::optional<Lease> LeaseTable::remove(std::uint64_t client) {
  auto found = leases_.extract(client);
  if (found.empty()) return std::nullopt;
  by_number_.erase({found.mapped().first, client});
  by_connection_.remove(found.mapped().connection, client);
  return std::move(found.mapped());
}

NumbersState StepLeases::take(std::uint64_t connection, const TakeNumbers& take, const IsApplied& is_applied) {
  if (take.end) end_ = std::min(end_, *take.end);
  if (const auto own = leases_.remove(take.client)) give_back(*own, is_applied);
  returned_.erase(returned_.lower_bound(end_), returned_.end());
  // Leases get smaller toward the end, so that all finish together. Source: Polychronopoulos and Kuck, Guided
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
  if (out.count > 0) leases_.add(take.client, {connection, take.name, out.first, out.count, take.has_all});
  out.is_over = out.count == 0 && is_finished(is_applied);
  out.settled = settled();
  return out;
}

void StepLeases::connection_gone(std::uint64_t connection, const IsApplied& is_applied) {
  for (const std::uint64_t client : leases_.clients_of(connection)) {
    const Lease lease = *leases_.remove(client);
    // Updates that this task applied last may be missing on other parameter servers.
    give_back(
        lease, lease.has_all ? is_applied : [](std::int64_t) { return false; });
  }
}

void StepLeases::give_back(const Lease& lease, const IsApplied& is_done) {
  for (std::int64_t i = 0, number = lease.first; i < lease.count && number < end_; ++i, ++number)
    if (!is_done(number)) returned_.insert(number);
}

bool StepLeases::is_done(Lease& lease, const IsApplied& is_applied) const {
  const auto is_settled = [&](std::int64_t number) { return number >= end_ || is_applied(number); };
  while (lease.done < lease.count && is_settled(lease.first + lease.done)) ++lease.done;
  return lease.done == lease.count;
}

// True if no client has numbers left: clients that do something else after their last one hold nobody up. The search
// ends at the first that has some.
bool StepLeases::is_finished(const IsApplied& is_applied) {
  while (!leases_.empty()) {
    const std::uint64_t client = leases_.by_number().begin()->second;
    if (!is_done(leases_.at(client), is_applied)) return false;
    leases_.remove(client);
  }
  return true;
}

std::vector<std::string> StepLeases::holders() const {
  std::vector<std::string> out;
  for (const auto& [first, client] : leases_.by_number()) {
    if (out.size() == kMostHolders) {
      out.push_back(counted(leases_.size() - kMostHolders, "other"));
      break;
    }
    out.push_back(leases_.at(client).name);
  }
  return out;
}

std::int64_t StepLeases::settled() const {
  std::int64_t out = returned_.empty() ? next_ : *returned_.begin();
  if (!leases_.empty()) out = std::min(out, leases_.first().first);
  return out;
}

}  // namespace tfd::task
