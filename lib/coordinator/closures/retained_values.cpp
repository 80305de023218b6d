// SPDX-License-Identifier: Apache-2.0
#include "retained_values.hpp"

namespace tfd::coordinator {

const RemoteValue& RetainedValues::Fetch::value(const std::string& id) const { return *named_.at(id)->value; }

const Error* RetainedValues::Fetch::error() const {
  for (const auto& [id, named] : named_)
    if (named->value->state() != ClosureState::kReady) return &named->value->error();
  return nullptr;
}

bool RetainedValues::add(const std::string& id) {
  const MutexLock lock(mutex_);
  return known_.try_emplace(id).second;
}

RetainedValues::Place RetainedValues::expect(const std::optional<std::string>& id, std::size_t results) {
  Place place;
  if (!id) return place;
  const MutexLock lock(mutex_);
  place.known_ = &known_.at(*id);
  if (forget_) {
    place.known_->released_by = Known::kForgotten;
    return place;
  }
  place.named_ = std::make_shared<Named>();
  place.named_->results = results;
  place.known_->named = place.named_;
  return place;
}

void RetainedValues::withdraw(const Place& place) {
  const MutexLock lock(mutex_);
  if (place.known_ != nullptr) *place.known_ = {};
}

// Closures without results share one entry, to save memory.
RetainedValues::Fetches RetainedValues::put(const Place& place, const RemoteValue& value) {
  Fetches complete;
  if (!place.named_) return complete;
  const MutexLock lock(mutex_);
  Named& named = *place.named_;
  named.value = value;
  if (value.state() == ClosureState::kReady && value.outcome().results.empty()) {
    if (!nothing_) nothing_ = place.named_;
    if (place.known_->named) place.known_->named = nothing_;
  }
  for (auto& fetch : std::exchange(named.waiting, {}))
    if (--fetch->missing_ == 0) complete.push_back(std::move(fetch));
  return complete;
}

Result<bool> RetainedValues::add_fetch(const std::shared_ptr<Fetch>& fetch) {
  std::vector<RemoteRef> refs;
  TFD_TRY(collect_remotes("fetch", fetch->of, refs));
  const MutexLock lock(mutex_);
  for (const RemoteRef& ref : refs) {
    const auto known = known_.find(ref.id);
    if (known == known_.end() || !known->second.is_closure())
      return fail(Code::kInvalidArgument, "fetch: no closure was scheduled with the id {}", ref.id);
    TFD_TRY(check_kept(ref.id), "fetch");
    const auto& named = known->second.named;
    if (ref.result && *ref.result >= named->results)
      return fail(Code::kInvalidArgument, "fetch: no result {} of closure {}: it has {}, counted from 0", *ref.result,
                  ref.id, named->results);
    fetch->named_.emplace(ref.id, named);
  }
  for (const auto& [id, named] : fetch->named_) {
    if (named->value) continue;
    ++fetch->missing_;
    named->waiting.push_back(fetch);
  }
  return fetch->missing_ == 0;
}

Result<void> RetainedValues::release(const std::vector<std::string>& ids, std::uint64_t line) {
  std::vector<std::shared_ptr<Named>> dropped;  // destroyed without the lock: their tensors may be large
  const MutexLock lock(mutex_);
  for (const std::string& id : ids) {
    const auto known = known_.find(id);
    if (known == known_.end() || !known->second.is_closure())
      return fail(Code::kInvalidArgument, "release: no closure was scheduled with the id {}", id);
  }
  for (const std::string& id : ids) {
    Known& known = known_.at(id);
    if (!known.named) continue;  // released before
    dropped.push_back(std::exchange(known.named, nullptr));
    known.released_by = line;
  }
  return {};
}

Result<void> RetainedValues::check_kept(const std::vector<RemoteRef>& refs) {
  const MutexLock lock(mutex_);
  for (const RemoteRef& ref : refs) TFD_TRY(check_kept(ref.id));
  return {};
}

Result<void> RetainedValues::check_kept(const std::string& id) const {
  const auto known = known_.find(id);
  if (known == known_.end() || known->second.released_by == 0) return {};
  if (known->second.released_by == Known::kForgotten)
    return fail(Code::kFailedPrecondition, "the value of {} was released: --forget keeps none beyond its answer", id);
  return fail(Code::kFailedPrecondition, "the value of {} was released by line {}", id, known->second.released_by);
}

}  // namespace tfd::coordinator
