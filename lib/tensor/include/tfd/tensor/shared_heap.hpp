#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Buffers of this process that other processes of its user can read where they lie: one file without a name (memfd),
// mapped once, whose pages take memory as they are written to. Only tensors of floats lie there: whoever has the file
// could change them, and no number that is checked first and used later may be among them.
// Thread rule: thread-safe. Once made it stays for the life of the process.
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include "tfd/tensor/tensor.hpp"

namespace tfd::tensor {

/// Smaller buffers aren't worth the bookkeeping of two processes.
inline constexpr std::size_t kLeastShared = 256 * 1024;

/// A storage that reports when its bytes are no longer held: the lender keeps the guarded storage, and the guard ends
/// as if the other process had copied the bytes.
class StorageGuard : public Storage {
 public:
  virtual std::shared_ptr<const Storage> guarded() const = 0;
};

class SharedHeap {
 public:
  /// The heap, made by the first call; null where there can be none (no memfd, no /proc, limits on address space or
  /// files). From then on Tensor::uninitialized() and zeros() take large tensors of floats from it.
  static SharedHeap* make();
  /// The same, null before make().
  static SharedHeap* find();

  /// Memory for a tensor; null: it isn't one of floats, is small, or there is no heap.
  static std::shared_ptr<Storage> allocate_for(DType dtype, std::size_t bytes, bool zeroed = false);
  /// Not initialized, or zeros; null if the heap is full. At least `bytes` long, aligned to a page.
  std::shared_ptr<Storage> allocate(std::size_t bytes, bool zeroed = false);
  /// Where bytes lie in the file; nullopt: somewhere else.
  std::optional<std::uint64_t> find_offset(std::span<const std::byte> bytes) const;
  /// The file, open for reading.
  int descriptor() const;
  /// Bytes in use, and those that are kept for the next ones.
  std::size_t used_bytes() const;
  std::size_t idle_bytes() const;

 private:
  class Block;
  struct State;
  explicit SharedHeap(std::unique_ptr<State> state);
  ~SharedHeap();
  std::unique_ptr<State> state_;
};

/// The heap of another process, to be read. Whoever wrote there can change it at any time.
class BorrowedHeap {
 public:
  /// Maps the memory of another process's SharedHeap::descriptor(); the descriptor may be closed after that.
  /// kInvalidArgument: it is something else; kResourceExhausted, kSystem: it can't be mapped.
  static Result<std::shared_ptr<BorrowedHeap>> map(int descriptor);
  BorrowedHeap(const BorrowedHeap&) = delete;
  BorrowedHeap& operator=(const BorrowedHeap&) = delete;
  ~BorrowedHeap();
  /// nullopt: it is smaller.
  std::optional<std::span<const std::byte>> find(std::uint64_t offset, std::size_t bytes) const;

 private:
  BorrowedHeap(const std::byte* base, std::size_t size) : base_(base), size_(size) {}
  const std::byte* base_;
  std::size_t size_;
};

}  // namespace tfd::tensor
