// SPDX-License-Identifier: Apache-2.0
#include "buffer_pool.hpp"

namespace tfd::transport {

class PooledStorage final : public tensor::Storage {
 public:
  // The pool is shared: a Tensor may live longer than the endpoint that received it.
  PooledStorage(std::shared_ptr<BufferPool> pool, std::size_t bytes, std::shared_ptr<tensor::Storage> buffer)
      : pool_(std::move(pool)), bytes_(bytes), buffer_(std::move(buffer)) {}
  ~PooledStorage() override { pool_->give_back(bytes_, std::move(buffer_)); }
  const std::byte* data() const override { return buffer_->data(); }
  std::byte* writable() override { return buffer_->writable(); }

 private:
  std::shared_ptr<BufferPool> pool_;
  std::size_t bytes_;
  std::shared_ptr<tensor::Storage> buffer_;
};

namespace {
constexpr std::size_t kLeastPooled = 32 * 1024;
constexpr std::size_t kGrain = 4096;
}  // namespace

std::shared_ptr<tensor::Storage> BufferPool::get(std::size_t bytes) {
  if (bytes < kLeastPooled) return tensor::make_host_storage(bytes);
  const std::size_t size = (bytes + kGrain - 1) / kGrain * kGrain;
  std::shared_ptr<tensor::Storage> buffer;
  {
    const MutexLock lock(mutex_);
    if (const auto found = free_.find(size); found != free_.end()) {
      buffer = std::move(found->second.back());
      found->second.pop_back();
      if (found->second.empty()) free_.erase(found);
      idle_ -= size;
    }
  }
  if (!buffer) buffer = tensor::make_host_storage(size);
  return std::make_shared<PooledStorage>(shared_from_this(), size, std::move(buffer));
}

std::size_t BufferPool::idle_bytes() const {
  const MutexLock lock(mutex_);
  return idle_;
}

void BufferPool::give_back(std::size_t bytes, std::shared_ptr<tensor::Storage> buffer) {
  const MutexLock lock(mutex_);
  if (idle_ + bytes > most_) return;  // `buffer` is freed by the caller's copy, after the lock
  idle_ += bytes;
  free_[bytes].push_back(std::move(buffer));
}

}  // namespace tfd::transport
