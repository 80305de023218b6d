// SPDX-License-Identifier: Apache-2.0
#include "workers/worker_pool.hpp"

#include <algorithm>
#include <bit>
#include <set>

namespace tfd::coordinator {
namespace {

constexpr std::size_t kHandfuls = 4;  // in a window
constexpr std::size_t kLarge = 16;    // a window of this size or more is refilled when half of it is done

}  // namespace

void WorkerList::set(std::size_t index, bool is_in) {
  if (index / 64 >= words_.size()) words_.resize(index / 64 + 1);
  const std::uint64_t bit = std::uint64_t{1} << index % 64;
  std::uint64_t& word = words_[index / 64];
  if (((word & bit) != 0) == is_in) return;
  word ^= bit;
  is_in ? ++size_ : --size_;
}

std::optional<std::size_t> WorkerList::find_without(const WorkerList& others, std::size_t from) const {
  for (std::size_t at = from / 64; at < words_.size(); ++at) {
    std::uint64_t left = words_[at] & ~others.word(at);
    if (at == from / 64) left &= ~std::uint64_t{0} << from % 64;
    if (left != 0) return at * 64 + static_cast<std::size_t>(std::countr_zero(left));
  }
  return std::nullopt;
}

std::optional<std::size_t> WorkerList::next(std::size_t from) const {
  static const WorkerList kNobody;
  if (size_ == 0) return std::nullopt;
  const auto found = find_without(kNobody, from);
  return found ? found : find_without(kNobody, 0);
}

std::optional<std::size_t> WorkerPool::find_member(const std::string& name) const {
  const auto found = by_name_.find(name);
  if (found == by_name_.end() || workers_[found->second].has_left_) return std::nullopt;
  return found->second;
}

std::vector<std::pair<std::size_t, std::uint64_t>> WorkerPool::ready_ones() const {
  std::vector<std::pair<std::size_t, std::uint64_t>> out;
  for (auto i = ready_.find_without({}, 0); i; i = ready_.find_without({}, *i + 1))
    out.emplace_back(*i, workers_[*i].generation_);
  return out;
}

void WorkerPool::become(std::size_t index, WorkerState state, Clock::time_point now) {
  Worker& worker = workers_[index];
  --counts_[static_cast<std::size_t>(worker.state_)];
  ++counts_[static_cast<std::size_t>(state)];
  worker.state_ = state;
  worker.since_ = now;
  list(index);
}

void WorkerPool::give(std::size_t index, ClosureId closure, bool runs_alone, Clock::time_point now) {
  Worker& worker = workers_[index];
  worker.runs_alone_ = runs_alone;
  if (worker.held_.empty()) worker.since_ = now;
  worker.held_.push_back(closure);
  list(index);
}

bool WorkerPool::take_back(std::size_t index, ClosureId closure) {
  std::vector<ClosureId>& held = workers_[index].held_;
  const auto found = std::ranges::find(held, closure);  // mostly the first: it answers in this order
  const bool was_held = found != held.end();
  if (was_held) held.erase(found);
  list(index);
  return was_held;
}

std::vector<ClosureId> WorkerPool::take_all(std::size_t index) {
  Worker& worker = workers_[index];
  std::vector<ClosureId> held = std::exchange(worker.held_, {});
  std::ranges::sort(held);
  list(index);
  return held;
}

void WorkerPool::answered(std::size_t index, bool is_step, std::optional<Duration> ran, Clock::time_point now) {
  Worker& worker = workers_[index];
  worker.since_ = now;
  if (ran) worker.window_.ran(*ran);
  worker.server_trouble_since_ = {};
  worker.backoff_ = Worker::kFirstBackoff;
  if (is_step) ++worker.data_.steps;
  list(index);
}

void WorkerPool::evaluated(std::size_t index, Clock::time_point now) {
  workers_[index].since_ = now;
  workers_[index].server_trouble_since_ = {};
}

void WorkerPool::gave_back(std::size_t index, std::uint64_t generation) {
  if (workers_[index].generation_ == generation) workers_[index].gives_back_ = false;
}

void WorkerPool::ignore_answers() {
  for (Worker& worker : workers_) ++worker.generation_;
}

void WorkerPool::end_all() {
  ignore_answers();
  for (std::size_t i = 0; i < workers_.size(); ++i) {
    workers_[i].held_.clear();
    list(i);
  }
}

void WorkerPool::list(std::size_t index) {
  Worker& worker = workers_[index];
  ready_.set(index, worker.is_ready());
  able_.set(index, worker.is_ready() && !worker.is_paused_);
  unknown_.set(index, worker.state_ == WorkerState::kLoading && worker.replicas_ == 0);
  windows_ -= std::exchange(worker.counted_window_, worker.is_ready() ? worker.window_.size() : 0);
  windows_ += worker.counted_window_;
  const bool may_get = able_.contains(index) && !(worker.runs_alone_ && !worker.held_.empty());
  free_.set(index, may_get && worker.held_.size() < worker.window_.at_once());
  const std::size_t size = worker.window_.size();
  const std::size_t filled_below = size < kLarge ? size : size / 2 + 1;
  roomy_.set(index, may_get && worker.held_.size() < filled_below);
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

std::size_t WorkerPool::handful(std::size_t index, Share share, std::size_t queued) const {
  const Worker& worker = workers_[index];
  const std::size_t size = worker.window_.size(), held = worker.held_.size();
  if (share == Share::kWindow) return std::max<std::size_t>(size, held + 1) - held;
  const std::size_t each = queued / std::max<std::size_t>(free_.size(), 1);
  return std::clamp<std::size_t>(each, 1, std::max<std::size_t>(size / kHandfuls, 1));
}

std::size_t WorkerPool::room_at(std::size_t index) const {
  const Worker& worker = workers_[index];
  const bool is_free = worker.is_ready() && !worker.is_paused_ && !worker.is_creating_;
  const std::size_t runs = worker.window_.at_once();
  return is_free && worker.held_.size() < runs ? runs - worker.held_.size() : 0;
}

MembershipDifference compare_members(const WorkerPool& workers, const std::map<std::string, std::string>& addresses) {
  MembershipDifference difference;
  std::set<std::string> members;
  for (std::size_t i = 0; i < workers.size(); ++i) {
    if (workers[i].has_left()) continue;
    members.insert(workers[i].name());
    const auto found = addresses.find(workers[i].name());
    if (found == addresses.end())
      difference.left.push_back(i);
    else if (found->second != workers[i].address())
      difference.moved.push_back(i);
  }
  for (const auto& [name, address] : addresses)
    if (!members.contains(name)) difference.joined.push_back(name);
  return difference;
}

}  // namespace tfd::coordinator
