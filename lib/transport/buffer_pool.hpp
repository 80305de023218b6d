#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// 64-byte aligned buffers for received tensors. Large ones are used again when their Tensor is gone: fresh pages cost
// more than the copy into them (a fault for every 4 KiB). Thread rule: thread-safe; buffers come back from any thread.
#include <cstddef>
#include <map>
#include <memory>
#include <span>
#include <vector>

#include "tfd/base/thread_annotations.hpp"
#include "tfd/tensor/tensor.hpp"

namespace tfd::transport {

/// A part of a buffer that is written while `keep` is held; empty: there is none.
struct Place {
  std::span<std::byte> bytes;
  std::shared_ptr<const void> keep;
};

class BufferPool : public std::enable_shared_from_this<BufferPool> {
 public:
  /// Keeps at most `kept_bytes` of idle buffers.
  explicit BufferPool(std::size_t kept_bytes) : most_(kept_bytes) {}
  /// Not initialized, writable.
  std::shared_ptr<tensor::Storage> get(std::size_t bytes);
  std::size_t idle_bytes() const;

 private:
  friend class PooledStorage;
  void give_back(std::size_t bytes, std::shared_ptr<tensor::Storage> buffer);

  const std::size_t most_;
  mutable Mutex mutex_;
  std::size_t idle_ TFD_GUARDED_BY(mutex_) = 0;
  /// Idle ones by exact size: training repeats its shapes.
  std::map<std::size_t, std::vector<std::shared_ptr<tensor::Storage>>> free_ TFD_GUARDED_BY(mutex_);
};

}  // namespace tfd::transport
