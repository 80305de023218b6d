// SPDX-License-Identifier: Apache-2.0
#include "staged_updates.hpp"

#include <utility>

namespace tfd::task {
namespace {

std::uint64_t bytes_of(const UpdateRequest& request) {
  std::uint64_t bytes = 0;
  for (const variable::Update& one : request.updates) {
    if (one.value.has_value()) bytes += one.value.byte_size();
    if (one.indices.has_value()) bytes += one.indices.byte_size();
  }
  return bytes;
}

}  // namespace

StagedUpdates::Taken StagedUpdates::stage(std::uint64_t worker, UpdateRequest request) {
  const auto [at, is_first] = entries_.try_emplace(request.sequence);
  Entry& entry = at->second;
  if (!is_first) {
    const bool is_same = request.attempt == entry.attempt;
    if (request.attempt < entry.attempt || (is_same && entry.state == State::kAborted)) return Taken::kLate;
    if (is_same && entry.state == State::kStaged) return Taken::kStaged;  // its answer was lost
    withdraw(entry);
  }
  entry.attempt = request.attempt;
  entry.worker = worker;
  entry.bytes = bytes_of(request);
  const auto known = workers_.find(worker);
  const bool has_others = known != workers_.end() && known->second.staged > 0;
  const bool is_full = has_others && bytes_ + entry.bytes > most_bytes_;
  entry.state = is_full ? State::kAskedAgain : State::kStaged;
  if (!is_full) entry.request = std::move(request);
  put(entry);
  return is_full ? Taken::kFull : Taken::kStaged;
}

bool StagedUpdates::has_room(std::uint64_t worker) const {
  const auto known = workers_.find(worker);
  return known == workers_.end() || known->second.staged == 0 || bytes_ < most_bytes_ / 2;
}

UpdateRequest* StagedUpdates::find(const variable::Attempt& attempt) {
  const auto at = entries_.find(attempt.sequence);
  const bool is_there =
      at != entries_.end() && at->second.state == State::kStaged && at->second.attempt == attempt.number;
  return is_there ? &at->second.request : nullptr;
}

void StagedUpdates::committed(const variable::Attempt& attempt) {
  drop(attempt.sequence);
  committed_[attempt.sequence] = attempt.number;
}

std::optional<std::uint32_t> StagedUpdates::find_committed(std::uint64_t sequence) const {
  const auto at = committed_.find(sequence);
  return at == committed_.end() ? std::nullopt : std::optional(at->second);
}

void StagedUpdates::abort(const variable::Attempt& attempt) {
  const auto [at, is_first] = entries_.try_emplace(attempt.sequence);
  Entry& entry = at->second;
  if (!is_first && entry.attempt > attempt.number) return;
  withdraw(entry);
  entry.attempt = attempt.number;
}

void StagedUpdates::abort_all() {
  entries_.clear();
  workers_.clear();
  bytes_ = 0;
}

void StagedUpdates::drop(std::uint64_t sequence) {
  if (const auto at = entries_.find(sequence); at != entries_.end()) erase(at);
}

void StagedUpdates::settle(std::uint64_t below) {
  for (auto at = entries_.begin(); at != entries_.end() && at->first < below;) at = erase(at);
  committed_.erase(committed_.begin(), committed_.lower_bound(below));
}

void StagedUpdates::tell(variable::SequenceHistory& history) const {
  for (const auto& [sequence, attempt] : committed_) history.committed.push_back({sequence, attempt});
  for (const auto& [sequence, entry] : entries_)
    if (entry.state == State::kStaged) history.staged.push_back({sequence, entry.attempt});
}

std::size_t& StagedUpdates::count_of(const Entry& entry) {
  Worker& worker = workers_[entry.worker];
  return entry.state == State::kStaged ? worker.staged : worker.asked_again;
}

void StagedUpdates::put(Entry& entry) {
  ++count_of(entry);
  if (entry.state == State::kStaged) bytes_ += entry.bytes;
}

/// Subtracts a waiting attempt from the counts, and releases its memory.
void StagedUpdates::withdraw(Entry& entry) {
  if (entry.state != State::kAborted) {
    --count_of(entry);
    if (entry.state == State::kStaged) bytes_ -= entry.bytes;
    const Worker& worker = workers_[entry.worker];
    if (worker.staged + worker.asked_again == 0) workers_.erase(entry.worker);
  }
  entry.request = {};
  entry.state = State::kAborted;
}

StagedUpdates::Entries::iterator StagedUpdates::erase(Entries::iterator at) {
  withdraw(at->second);
  return entries_.erase(at);
}

}  // namespace tfd::task
