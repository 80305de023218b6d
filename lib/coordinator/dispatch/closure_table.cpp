// SPDX-License-Identifier: Apache-2.0
#include "dispatch/closure_table.hpp"

#include <algorithm>
#include <utility>

namespace tfd::coordinator {

void ClosureTable::add(const ClosurePtr& closure) {
  closure->id = next_id_++;
  closures_.put(closure->id, closure);
  queue_.put(closure->id);
}

const Closure* ClosureTable::next() const {
  const auto id = queue_.has_error() ? std::nullopt : queue_.next();
  return id ? closures_.find(*id).get() : nullptr;
}

const ClosurePtr& ClosureTable::take() {
  const ClosurePtr& closure = closures_.find(*queue_.take());
  if (!closure->sequenced) {
    closure->sequenced = true;
    closure->call.sequence = closure->updates ? next_sequence_++ : task::kWithoutUpdates | closure->id;
  }
  closure->turn = next_turn_++;
  if (closure->call.attempt > 0) returned_.erase(closure->id);
  return closure;
}

void ClosureTable::complete(const ClosurePtr& closure, task::ClosureOutcome outcome) {
  closure->value->set_outcome(std::move(outcome));
  queue_.finished(closure->id);
  // Updates of an earlier attempt may still arrive from a suspended worker; none may be applied after a join.
  if (closure->call.attempt > 0)
    raise_fence(*closure);
  else if (closure->updates)
    over_.insert(closure->call.sequence);
  closures_.take(closure->id);
}

void ClosureTable::fail(const ClosurePtr& closure, Error error) {
  closure->value->set_error(error);
  const bool is_first = !queue_.has_error();
  queue_.failed(closure->id, std::move(error));
  came_to_nothing(*closure);
  if (is_first && queue_.has_error()) {
    failed_id_ = closure->id;
    drop_is_due_ = true;
    for (const ClosureId id : returned_) came_to_nothing(at(id));  // they end canceled
    returned_.clear();
  }
  closures_.take(closure->id);
}

ClosurePtr ClosureTable::put_back(ClosureId id, const Error& why) {
  if (!queue_.put_back(id)) {
    Closure& closure = *closures_.find(id);
    if (is_staging_ && closure.updates) unsent_aborts_.push_back({closure.call.sequence, closure.call.attempt});
    ++closure.call.attempt;
    returned_.insert(id);
    return nullptr;
  }
  ClosurePtr closure = closures_.take(id);
  closure->value->set_cancelled(why, failed_id_);
  came_to_nothing(*closure);
  return closure;
}

ClosurePtrs ClosureTable::drop_queued() {
  ClosurePtrs dropped;
  while (const auto id = queue_.has_error() ? std::nullopt : queue_.take()) {
    queue_.finished(*id);
    dropped.push_back(closures_.take(*id));
    dropped.back()->value->set_cancelled({Code::kCancelled, "it was dropped before any worker had it", {}}, {});
    if (returned_.erase(*id) > 0) came_to_nothing(*dropped.back());
  }
  return dropped;
}

std::optional<ClosureTable::Raised> ClosureTable::raise() {
  std::vector<ClosureId> ids;
  auto error = queue_.raise(&ids);
  if (!error) return std::nullopt;
  Raised raised{std::move(*error), {}};
  const auto cause = std::exchange(failed_id_, std::nullopt);
  for (const ClosureId id : ids) {
    raised.cancelled.push_back(closures_.take(id));
    raised.cancelled.back()->value->set_cancelled(raised.error, cause);
  }
  return raised;
}

ClosurePtrs ClosureTable::end(const Error& error) {
  ClosurePtrs ended;
  for (const ClosureId id : queue_.clear()) {
    ended.push_back(closures_.take(id));
    ended.back()->value->set_error(error);
  }
  returned_.clear();
  return ended;
}

void ClosureTable::abandon(const Error& error) {
  closures_.for_each([&](const ClosurePtr& closure) { closure->value->set_cancelled(error, std::nullopt); });
}

// Fences a closure that ends without its updates, while a suspended or disconnected worker may still hold it: an empty
// update with its sequence number makes parameter servers drop a late one (and not remember a gap forever).
// Errors are raised once it is acknowledged: then nothing is executing, as far as callers can observe.
void ClosureTable::raise_fence(const Closure& closure) {
  if (!closure.sequenced || !closure.updates) return;
  over_.insert(closure.call.sequence);
  if (servers_ == 0) return;
  unsent_fences_.push_back(closure.call.sequence);
  fences_ += servers_;
}

void ClosureTable::came_to_nothing(const Closure& closure) {
  if (closure.sequenced && closure.updates) unused_.push_back(closure.call.sequence);
  raise_fence(closure);
}

ClosureTable::Over ClosureTable::over() {
  const std::uint64_t below = over_.low();
  unused_below_ += std::erase_if(unused_, [below](std::uint64_t sequence) { return sequence < below; });
  return {below, unused_below_};
}

void ClosureTable::go_on(const Continuation& from) {
  next_sequence_ = from.next;
  over_.settle(from.settled);
  for (std::uint64_t sequence = from.settled; sequence < from.next; ++sequence)
    if (!std::ranges::binary_search(from.unfinished, sequence)) over_.insert(sequence);
  unused_ = from.unused;
  unused_below_ = from.unused_below;
}

// Later closures have higher numbers, since nothing is scheduled before the error is raised.
std::optional<ClosureTable::DropBelow> ClosureTable::take_drop() {
  if (!std::exchange(drop_is_due_, false) || !queue_.has_error()) return std::nullopt;
  return DropBelow{next_sequence_, task::kWithoutUpdates | next_id_};
}

}  // namespace tfd::coordinator
