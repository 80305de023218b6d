// SPDX-License-Identifier: Apache-2.0
#include "pins.hpp"

#include "tfd/tensor/shared_heap.hpp"

namespace tfd::task {
namespace {

class PinnedStorage final : public tensor::StorageGuard {
 public:
  PinnedStorage(std::shared_ptr<tensor::Storage> inner, std::shared_ptr<Pin> pin)
      : pin_(std::move(pin)), inner_(std::move(inner)) {}
  const std::byte* data() const override { return inner_->data(); }
  std::shared_ptr<const tensor::Storage> guarded() const override { return inner_; }

 private:
  std::shared_ptr<Pin> pin_;  // ends after the buffer
  std::shared_ptr<tensor::Storage> inner_;
};

}  // namespace

void PinWatch::arm() {
  const MutexLock lock(mutex_);
  is_armed_ = true;
}

void PinWatch::close() {
  const MutexLock lock(mutex_);
  released_ = nullptr;
}

// Under the lock, so that nothing is called after close().
void PinWatch::released() {
  const MutexLock lock(mutex_);
  if (std::exchange(is_armed_, false) && released_) released_();
}

tensor::Tensor pinned(tensor::Tensor value, std::shared_ptr<Pin> pin) {
  if (pin == nullptr) return value;
  return {value.dtype(), value.shape(), std::make_shared<PinnedStorage>(value.storage(), std::move(pin)),
          value.offset()};
}

std::shared_ptr<Pin> Versions::find() const {
  if (held_.empty() || held_.back().version != current_) return nullptr;
  return held_.back().pin.lock();
}

std::size_t Versions::held() {
  std::erase_if(held_, [](const Held& one) { return one.pin.expired(); });
  return held_.size();
}

std::shared_ptr<Pin> Versions::pin(const std::shared_ptr<PinWatch>& watch) {
  if (auto found = find()) return found;
  held();
  auto made = std::make_shared<Pin>(watch);
  held_.push_back({current_, made});
  return made;
}

}  // namespace tfd::task
