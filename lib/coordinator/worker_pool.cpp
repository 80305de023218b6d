// SPDX-License-Identifier: Apache-2.0
#include "worker_pool.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <set>

namespace tfd::coordinator {
namespace {

constexpr Duration kWindowWork = std::chrono::milliseconds(20);  // work that a worker should hold
constexpr Duration kWindowSlice = std::chrono::milliseconds(5);  // time over which its speed is measured

}  // namespace

void Window::answered(Clock::time_point now) {
  if (counted_++ == 0) {
    start_ = now;
    return;
  }
  const auto elapsed = now - start_;
  if (elapsed < kWindowSlice) return;
  const double per_closure = std::chrono::duration<double>(elapsed).count() / static_cast<double>(counted_ - 1);
  const double wanted = std::ceil(std::chrono::duration<double>(kWindowWork).count() / per_closure);
  size_ = std::clamp(wanted < static_cast<double>(most_) ? static_cast<std::size_t>(wanted) : most_,
                     std::min(least_, most_), most_);
  counted_ = 1;
  start_ = now;
}

void WorkerList::set(std::size_t index, bool is_in) {
  if (index / 64 >= words_.size()) words_.resize(index / 64 + 1);
  const std::uint64_t bit = std::uint64_t{1} << index % 64;
  if (is_in)
    words_[index / 64] |= bit;
  else
    words_[index / 64] &= ~bit;
}

std::optional<std::size_t> WorkerList::find(std::size_t from) const {
  for (std::size_t word = from / 64; word < words_.size(); ++word) {
    const std::uint64_t left = word == from / 64 ? words_[word] & (~std::uint64_t{0} << from % 64) : words_[word];
    if (left != 0) return word * 64 + static_cast<std::size_t>(std::countr_zero(left));
  }
  return std::nullopt;
}

std::optional<std::size_t> WorkerList::next(std::size_t from) const {
  const auto found = find(from);
  return found ? found : find(0);
}

Worker& WorkerPool::add(std::string name, Window window) {
  Worker& worker = workers_.emplace_back();
  worker.name = std::move(name);
  worker.window_ = window;
  return worker;
}

std::size_t WorkerPool::count(WorkerState state) const {
  return static_cast<std::size_t>(std::ranges::count(workers_, state, &Worker::state_));
}

void WorkerPool::become(std::size_t index, WorkerState state, Clock::time_point now) {
  workers_[index].state_ = state;
  workers_[index].since = now;
  list(index);
}

void WorkerPool::set_paused(std::size_t index, bool paused) {
  workers_[index].paused_ = paused;
  list(index);
}

void WorkerPool::set_window(std::size_t index, Window window) {
  workers_[index].window_ = window;
  list(index);
}

void WorkerPool::give(std::size_t index, ClosureId closure, bool runs_alone, Clock::time_point now) {
  Worker& worker = workers_[index];
  worker.runs_alone_ = runs_alone;
  if (worker.held_.empty()) {
    worker.since = now;
    worker.window_.idle();
  }
  worker.held_.insert(closure);
  list(index);
}

bool WorkerPool::take_back(std::size_t index, ClosureId closure) {
  const bool was_held = workers_[index].held_.erase(closure) > 0;
  list(index);
  return was_held;
}

std::vector<ClosureId> WorkerPool::take_all(std::size_t index) {
  Worker& worker = workers_[index];
  std::vector<ClosureId> held(worker.held_.begin(), worker.held_.end());
  std::ranges::sort(held);
  worker.held_.clear();
  list(index);
  return held;
}

void WorkerPool::answered(std::size_t index, Clock::time_point now) {
  Worker& worker = workers_[index];
  worker.since = now;
  worker.window_.answered(now);
  worker.server_trouble_since = {};
  worker.backoff = std::chrono::seconds(1);
  list(index);
}

void WorkerPool::end_all() {
  for (std::size_t i = 0; i < workers_.size(); ++i) {
    ++workers_[i].generation;
    workers_[i].held_.clear();
    list(i);
  }
}

void WorkerPool::list(std::size_t index) {
  const Worker& worker = workers_[index];
  const bool may_get = worker.is_ready() && !worker.paused_ && !(worker.runs_alone_ && !worker.held_.empty());
  free_.set(index, may_get && worker.held_.size() < worker.window_.at_once());
  roomy_.set(index, may_get && worker.held_.size() < worker.window_.size());
}

std::optional<std::size_t> WorkerPool::take_turn(Share share, bool alone) {
  const WorkerList& list = share == Share::kWindow ? roomy_ : free_;
  const auto first = list.next(next_);
  auto found = first;
  while (alone && found && !workers_[*found].held_.empty()) {
    found = list.next(*found + 1);
    if (found == first) return std::nullopt;
  }
  if (found) next_ = *found + 1;
  return found;
}

std::size_t WorkerPool::room_at(std::size_t index) const {
  const Worker& worker = workers_[index];
  const bool is_free = worker.is_ready() && !worker.paused_ && !worker.making_iterator;
  const std::size_t runs = worker.window_.at_once();
  return is_free && worker.held_.size() < runs ? runs - worker.held_.size() : 0;
}

void WorkerPool::became_ready(std::size_t index) {
  workers_[index].load_error.reset();
  workers_[index].was_ready = true;
  any_was_ready_ = true;
}

void WorkerPool::cannot_use(std::size_t index, Error error, Clock::time_point now) {
  if (any_was_ready_) return;
  if (unusable_.empty()) unusable_since_ = now;
  if (!workers_[index].load_error) unusable_.push_back(index);
  workers_[index].load_error = std::move(error);
}

void WorkerPool::may_do_again(std::size_t index) {
  if (!workers_[index].load_error) return;
  workers_[index].load_error.reset();
  std::erase(unusable_, index);
}

Error WorkerPool::describe_unusable() const {
  const auto without_name = [](const Worker& worker) {
    std::string text = worker.load_error->message;
    for (std::size_t at = 0; (at = text.find(worker.name, at)) != std::string::npos;)
      text.erase(at, worker.name.size());
    return text;
  };
  const Worker& first = workers_[unusable_.front()];
  const auto same = std::ranges::count_if(unusable_, [&](std::size_t index) {
    return workers_[index].load_error->code == first.load_error->code &&
           without_name(workers_[index]) == without_name(first);
  });
  Error error = *first.load_error;
  if (workers_.size() == 1) return error;
  const std::string of = fmt::format(" ({} of {} workers)", same, workers_.size());
  error.message.insert(std::min(error.message.find('\n'), error.message.size()), of);  // a hint follows
  return error;
}

MembershipDifference compare_members(const WorkerPool& workers, const std::map<std::string, std::string>& addresses) {
  MembershipDifference difference;
  std::set<std::string> members;
  for (std::size_t i = 0; i < workers.size(); ++i) {
    if (workers[i].has_left) continue;
    members.insert(workers[i].name);
    const auto found = addresses.find(workers[i].name);
    if (found == addresses.end())
      difference.left.push_back(i);
    else if (found->second != workers[i].address)
      difference.moved.push_back(i);
  }
  for (const auto& [name, address] : addresses)
    if (!members.contains(name)) difference.joined.push_back(name);
  return difference;
}

}  // namespace tfd::coordinator
