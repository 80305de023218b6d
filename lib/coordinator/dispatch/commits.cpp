// SPDX-License-Identifier: Apache-2.0
#include "dispatch/commits.hpp"

#include <utility>

namespace tfd::coordinator {

std::vector<Commits::Arrived> Commits::arrived(const Dispatcher::Assignment& from, task::ClosureOutcome outcome) {
  Arrivals& of = arrivals_[from.worker];
  if (of.generation != from.generation) of = {from.generation};
  const std::uint64_t number = outcome.staged_after;
  of.early.emplace(number, Arrived{from, std::move(outcome)});
  std::vector<Arrived> out;
  for (auto at = of.early.begin(); at != of.early.end() && at->first == of.next; at = of.early.erase(at), ++of.next)
    out.push_back(std::move(at->second));
  return out;
}

void Commits::add(const ClosurePtr& closure, task::ClosureOutcome outcome, std::vector<std::string> returns) {
  const std::uint64_t sequence = closure->call.sequence;
  Order order{{sequence, closure->call.attempt}, std::exchange(outcome.staged_on, {}), std::move(returns)};
  Staged staged{.done = {closure, std::move(outcome), std::nullopt}, .order = order};
  staged.has_read = order.returns.empty() || !is_sequential_;
  staged.left = order.servers.size() + (order.returns.empty() || is_sequential_ ? 0 : 1);
  staged_.emplace(sequence, std::move(staged));
  unsent_.push_back(std::move(order));
}

std::vector<Commits::Order> Commits::take() {
  std::vector<Order> out;
  while (!is_paused() && !unsent_.empty() && !(is_sequential_ && is_committing())) {
    out.push_back(std::move(unsent_.front()));
    unsent_.pop_front();
    ++committing_;
  }
  return out;
}

Commits::Next Commits::answered(std::uint64_t sequence, const Result<void>& answer) {
  const auto found = staged_.find(sequence);
  if (found == staged_.end()) return {};
  Staged& staged = found->second;
  if (!answer && !staged.done.error) staged.done.error = answer.error();
  if (--staged.left > 0) return {};
  return next(found);
}

void Commits::found_due(std::uint64_t sequence, std::uint32_t server, bool is_busy) {
  const auto found = staged_.find(sequence);
  if (found == staged_.end()) return;
  found->second.is_due = true;
  if (is_busy) found->second.busy.push_back(server);
}

Commits::AfterDue Commits::made_due(std::uint64_t sequence, const Result<void>& made) {
  const auto found = staged_.find(sequence);
  if (found == staged_.end()) return {};
  Staged& staged = found->second;
  if (!made) staged.done.error = made.error();
  AfterDue out{.again = {staged.order.attempt, std::exchange(staged.busy, {}), {}}};
  if (!made) out.again.servers.clear();
  staged.is_due = false;
  staged.left = out.again.servers.size();
  if (staged.left == 0) out.next = next(found);
  return out;
}

Commits::Next Commits::next(StagedOnes::iterator at) {
  Staged& staged = at->second;
  const bool is_good = !staged.done.error;
  if (is_good && staged.is_due) return {.makes_all_due = !staged.busy.empty()};
  if (is_good && !std::exchange(staged.has_read, true)) {
    staged.left = 1;
    return {.reads = staged.order};
  }
  Next out{.done = std::move(staged.done)};
  staged_.erase(at);
  --committing_;
  return out;
}

Commits::Done* Commits::find(std::uint64_t sequence) {
  const auto found = staged_.find(sequence);
  return found == staged_.end() ? nullptr : &found->second.done;
}

void Commits::clear() {
  staged_.clear();
  unsent_.clear();
  committing_ = 0;
}

}  // namespace tfd::coordinator
