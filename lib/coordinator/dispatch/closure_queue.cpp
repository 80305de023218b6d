// SPDX-License-Identifier: Apache-2.0
#include "tfd/coordinator/closure_queue.hpp"

#include <utility>

namespace tfd::coordinator {

std::optional<ClosureId> ClosureQueue::take() {
  if (queued_.empty()) return std::nullopt;
  const ClosureId closure = queued_.front();
  queued_.pop_front();
  in_flight_.insert(closure);
  return closure;
}

std::optional<ClosureId> ClosureQueue::take_for(std::size_t worker) {
  const auto own = tagged_.find(worker);
  if (own == tagged_.end() || own->second.empty()) return std::nullopt;
  const ClosureId resource = own->second.front();
  own->second.pop_front();
  return resource;
}

std::optional<ClosureId> ClosureQueue::take(std::size_t worker) {
  if (const auto own = take_for(worker)) return own;
  return take();
}

bool ClosureQueue::finished(ClosureId closure) { return in_flight_.erase(closure); }

bool ClosureQueue::failed(ClosureId closure, Error error) {
  if (!finished(closure)) return false;
  if (!keep_going_ && !error_) error_ = std::move(error);
  return true;
}

bool ClosureQueue::put_back(ClosureId closure) {
  if (!finished(closure)) return false;
  if (error_) return true;
  queued_.push_back(closure);
  return false;
}

std::optional<Error> ClosureQueue::raise(std::vector<ClosureId>* cancelled) {
  if (!error_ || !in_flight_.empty()) return std::nullopt;
  cancelled->assign(queued_.begin(), queued_.end());
  queued_.clear();
  return std::exchange(error_, std::nullopt);
}

std::vector<ClosureId> ClosureQueue::clear() {
  std::vector<ClosureId> all(queued_.begin(), queued_.end());
  const std::vector<ClosureId> in_flight = in_flight_.all();
  all.insert(all.end(), in_flight.begin(), in_flight.end());
  queued_.clear();
  in_flight_.clear();
  tagged_.clear();
  error_.reset();
  return all;
}

}  // namespace tfd::coordinator
