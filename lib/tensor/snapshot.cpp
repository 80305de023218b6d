// SPDX-License-Identifier: Apache-2.0
#include "tfd/tensor/snapshot.hpp"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <memory>
#include <vector>

namespace tfd::tensor {
namespace {

constexpr std::size_t kLeast = 64 << 10;   // bytes of a tensor: less is copied as fast
constexpr std::size_t kGroup = 256 << 10;  // bytes whose saved pieces make one list

/// Pieces of a tensor as they were, one list for each kGroup bytes. One thread adds, another one reads.
class SavedRows {
 public:
  SavedRows(std::size_t bytes, std::size_t row_bytes, std::size_t rows)
      : row_bytes_(row_bytes), lists_(bytes / kGroup + 1), is_saved_(rows) {}
  SavedRows(const SavedRows&) = delete;
  SavedRows& operator=(const SavedRows&) = delete;
  ~SavedRows() {
    for (const std::atomic<Piece*>& list : lists_)
      for (Piece* piece = list.load(); piece != nullptr;) delete std::exchange(piece, piece->next);
  }

  void save(const std::byte* live, std::size_t row) {
    if (is_saved_[row]) return;
    const std::size_t end = (row + 1) * row_bytes_;
    for (std::size_t at = row * row_bytes_; at < end;) {
      const std::size_t size = std::min(end, (at / kGroup + 1) * kGroup) - at;
      add(at, {live + at, live + at + size});
      at += size;
    }
    is_saved_[row] = true;
  }

  void put_back(std::size_t offset, std::span<std::byte> into) const {
    const std::size_t end = offset + into.size();
    for (std::size_t group = offset / kGroup; group * kGroup < end; ++group)
      for (const Piece* piece = lists_[group].load(std::memory_order_acquire); piece != nullptr; piece = piece->next) {
        const std::size_t first = std::max(piece->offset, offset);
        const std::size_t last = std::min(piece->offset + piece->bytes.size(), end);
        if (first < last)
          std::memcpy(into.data() + (first - offset), &piece->bytes[first - piece->offset], last - first);
      }
  }

 private:
  struct Piece {
    std::size_t offset;
    std::vector<std::byte> bytes;
    Piece* next;
  };
  void add(std::size_t offset, std::vector<std::byte> bytes) {
    std::atomic<Piece*>& list = lists_[offset / kGroup];
    auto piece = std::make_unique<Piece>(Piece{offset, std::move(bytes), list.load(std::memory_order_relaxed)});
    list.store(piece.release(), std::memory_order_release);
  }

  const std::size_t row_bytes_;
  std::vector<std::atomic<Piece*>> lists_;
  std::vector<bool> is_saved_;  // of whoever adds
};

/// Storage of the live tensor, from its first snapshot on.
class LiveStorage final : public Storage {
 public:
  LiveStorage(std::shared_ptr<Storage> inner, const std::shared_ptr<SavedRows>& saved)
      : inner_(std::move(inner)), saved_(saved) {}
  const std::byte* data() const override { return inner_->data(); }
  std::byte* writable() override { return inner_->writable(); }
  const std::shared_ptr<Storage>& inner() const { return inner_; }
  /// Null: its snapshot is no longer read.
  std::shared_ptr<SavedRows> saved() const { return saved_.lock(); }

 private:
  const std::shared_ptr<Storage> inner_;
  const std::weak_ptr<SavedRows> saved_;
};

/// Storage of the snapshot.
class SnapshotStorage final : public Storage {
 public:
  SnapshotStorage(std::shared_ptr<LiveStorage> live, std::shared_ptr<SavedRows> saved)
      : live_(std::move(live)), saved_(std::move(saved)) {}
  const std::byte* data() const override { return live_->data(); }
  void read(std::size_t offset, std::span<std::byte> into) const;

 private:
  std::shared_ptr<LiveStorage> live_;
  std::shared_ptr<SavedRows> saved_;  // last: destroyed first, so that the live tensor sees a snapshot among the owners
};

void fence([[maybe_unused]] std::memory_order order) {
#ifndef __SANITIZE_THREAD__  // which doesn't know fences
  std::atomic_thread_fence(order);
#endif
}

template <class T>
[[gnu::no_sanitize("thread")]] void copy_each(const std::byte* from, std::byte* to, std::size_t count) {
  constexpr std::size_t kLine = 64 / sizeof(T);
  constexpr std::size_t kAhead = 2048;  // bytes: processors by themselves look ahead within a page of 4 KiB only
  for (std::size_t i = 0; i < count; ++i) {
    if (i % kLine == 0) __builtin_prefetch(from + i * sizeof(T) + kAhead);
    reinterpret_cast<T*>(to)[i] = __atomic_load_n(reinterpret_cast<const T*>(from) + i, __ATOMIC_RELAXED);
  }
}

/// Copies bytes that may be changing: rows that changed while they were read are replaced after that.
[[gnu::no_sanitize("thread")]] void copy_changing(const std::byte* from, std::span<std::byte> to) {
  const bool is_aligned =
      (reinterpret_cast<std::uintptr_t>(from) | reinterpret_cast<std::uintptr_t>(to.data())) % 8 == 0;
  const std::size_t words = is_aligned ? to.size() / 8 : 0;
  copy_each<std::uint64_t>(from, to.data(), words);
  copy_each<std::uint8_t>(from + 8 * words, to.data() + 8 * words, to.size() - 8 * words);
}

// Whoever changes a row has saved it before: with a changed byte its saved piece is seen.
void SnapshotStorage::read(std::size_t offset, std::span<std::byte> into) const {
  copy_changing(live_->data() + offset, into);
  fence(std::memory_order_acquire);
  saved_->put_back(offset, into);
}

/// Rows saved by the snapshot that is being read; null if others share the tensor besides, or no snapshot exists.
std::shared_ptr<SavedRows> saved_beside(const Tensor& live) {
  auto* const shared = dynamic_cast<const LiveStorage*>(live.storage().get());
  // Counted before: a snapshot that is still read then was one of the two.
  const bool are_two = shared != nullptr && live.storage().use_count() == 2;
  return are_two ? shared->saved() : nullptr;
}

const SnapshotStorage* snapshot_of(const Tensor& tensor) {
  return dynamic_cast<const SnapshotStorage*>(tensor.storage().get());
}

}  // namespace

Tensor take_snapshot(Tensor& live) {
  if (live.byte_size() < kLeast || live.shape().empty() || live.offset() != 0 || !live.is_sole_owner()) return live;
  std::shared_ptr<Storage> inner = live.storage();
  if (const auto* had = dynamic_cast<const LiveStorage*>(inner.get())) inner = had->inner();
  const auto rows = static_cast<std::size_t>(live.shape()[0]);
  const auto saved = std::make_shared<SavedRows>(live.byte_size(), live.byte_size() / rows, rows);
  const auto shared = std::make_shared<LiveStorage>(std::move(inner), saved);
  live = Tensor(live.dtype(), live.shape(), shared);
  return {live.dtype(), live.shape(), std::make_shared<SnapshotStorage>(shared, saved)};
}

std::span<const std::byte> read_snapshot(const Tensor& snapshot, std::size_t offset, std::span<std::byte> into) {
  const SnapshotStorage* const changing = snapshot_of(snapshot);
  if (changing == nullptr) return snapshot.bytes().subspan(offset, into.size());
  changing->read(offset, into);
  return into;
}

Tensor whole_snapshot(const Tensor& snapshot) {
  const SnapshotStorage* const changing = snapshot_of(snapshot);
  if (changing == nullptr) return snapshot;
  Tensor out = Tensor::uninitialized(snapshot.dtype(), snapshot.shape());
  changing->read(0, {out.mutable_data(), out.byte_size()});
  return out;
}

bool can_change_rows(const Tensor& live) { return live.is_sole_owner() || saved_beside(live) != nullptr; }

std::byte* rows_to_change(Tensor& live, std::span<const std::int64_t> rows) {
  if (const auto saved = saved_beside(live)) {
    for (const std::int64_t row : rows) saved->save(live.data(), static_cast<std::size_t>(row));
    fence(std::memory_order_release);
    return live.storage()->writable();
  }
  if (!live.is_sole_owner()) live = live.unshared();
  return live.mutable_data();
}

}  // namespace tfd::tensor
