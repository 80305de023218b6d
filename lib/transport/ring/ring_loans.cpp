// SPDX-License-Identifier: Apache-2.0
#include "ring/ring_loans.hpp"

#include <poll.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <bitset>
#include <cstring>

#include "tfd/base/deadline.hpp"
#include "tfd/base/thread_annotations.hpp"
#include "tfd/process/local_socket.hpp"

namespace tfd::transport {
namespace {

constexpr Duration kSettleInterval = std::chrono::seconds(1);
constexpr std::size_t kMostLent = std::size_t{1} << 30;     // bytes, to one peer
constexpr std::size_t kMostCopied = std::size_t{64} << 20;  // at once, on the I/O thread

class BorrowedStorage final : public tensor::Storage {
 public:
  BorrowedStorage(std::shared_ptr<RingLine> line, std::shared_ptr<tensor::BorrowedHeap> heap, std::uint32_t slot,
                  const std::byte* data)
      : line_(std::move(line)), heap_(std::move(heap)), slot_(slot), data_(data) {}
  ~BorrowedStorage() override { line_->rings.give_back(slot_); }
  const std::byte* data() const override { return data_; }

 private:
  std::shared_ptr<RingLine> line_;
  std::shared_ptr<tensor::BorrowedHeap> heap_;
  std::uint32_t slot_;
  const std::byte* data_;
};

/// Loans of ended connections, of the whole process: its heap is one, too.
struct LeftBehind {
  Mutex mutex;
  std::vector<RingLoans> loans TFD_GUARDED_BY(mutex);
  Clock::time_point looked TFD_GUARDED_BY(mutex){};
  std::atomic<bool> is_empty{true};
};

LeftBehind& left_behind() {
  static LeftBehind& all = *new LeftBehind;  // never destroyed: endpoints may be closed at the end
  return all;
}

}  // namespace

void RingLoans::leave_behind() {
  settle();
  if (!has_lent()) return;
  LeftBehind& all = left_behind();
  const MutexLock lock(all.mutex);
  all.loans.push_back(std::move(*this));
  all.is_empty.store(false);
}

void RingLoans::settle_left_behind() {
  LeftBehind& all = left_behind();
  if (all.is_empty.load()) return;
  const MutexLock lock(all.mutex);
  const Clock::time_point now = Clock::now();
  if (now - all.looked < kSettleInterval) return;
  all.looked = now;
  std::erase_if(all.loans, [](RingLoans& loans) {
    loans.settle();
    return !loans.has_lent() || loans.is_abandoned();
  });
  all.is_empty.store(all.loans.empty());
}

bool RingLoans::has_told() {
  if (has_told_) return true;
  const tensor::SharedHeap* const heap = tensor::SharedHeap::find();
  constexpr std::array<std::byte, 1> kBell{std::byte{1}};
  if (heap == nullptr) return false;
  line_->rings.announce_gift();
  return has_told_ = process::send_with_descriptor(line_->bell.get(), kBell, heap->descriptor()).has_value();
}

std::optional<std::uint32_t> RingLoans::find_slot() const {
  std::bitset<process::SharedRings::kLoans> taken;
  for (const Lent& one : lent_) taken.set(one.slot);
  for (std::uint32_t slot = 0; slot < taken.size(); ++slot)
    if (!taken[slot]) return slot;
  return std::nullopt;
}

std::optional<Loan> RingLoans::lend(const std::shared_ptr<const tensor::Storage>& keep,
                                    std::span<const std::byte> bytes) {
  if (!has_told() || !line_->rings.may_lend() || lent_bytes_ + bytes.size() > kMostLent) return std::nullopt;
  settle();
  const auto slot = find_slot();
  if (!slot) return std::nullopt;
  tensor::SharedHeap& heap = *tensor::SharedHeap::find();
  std::shared_ptr<const tensor::Storage> kept = keep;
  auto offset = heap.find_offset(bytes);
  if (!offset || *offset % tensor::kAlignment != 0) {  // somewhere else, or rows of a tensor
    const auto copy = bytes.size() <= kMostCopied ? heap.allocate(bytes.size()) : nullptr;
    if (!copy) return std::nullopt;
    std::memcpy(copy->writable(), bytes.data(), bytes.size());
    offset = heap.find_offset({copy->data(), bytes.size()});
    kept = copy;
  }
  line_->rings.mark_lent(*slot);
  lent_.push_back({*slot, bytes.size(), std::move(kept)});
  lent_bytes_ += bytes.size();
  return Loan{*slot, *offset};
}

void RingLoans::settle() {
  std::erase_if(lent_, [&](const Lent& one) {
    if (line_->rings.is_lent(one.slot)) return false;
    lent_bytes_ -= one.bytes;
    return true;
  });
}

bool RingLoans::is_abandoned() const {
  pollfd bell{line_->bell.get(), 0, 0};
  return ::poll(&bell, 1, 0) == 1 && (bell.revents & (POLLHUP | POLLERR)) != 0;
}

void RingLoans::take_heap(const process::Fd& heap) {
  if (theirs_) return;
  Result<std::shared_ptr<tensor::BorrowedHeap>> mapped = tensor::BorrowedHeap::map(heap.get());
  if (!mapped) return;
  theirs_ = std::move(*mapped);
  line_->rings.allow_loans();
}

Result<std::shared_ptr<tensor::Storage>> RingLoans::borrow(const Loan& loan, std::size_t bytes) {
  const auto found = theirs_ ? theirs_->find(loan.offset, bytes) : std::nullopt;
  if (!found || loan.slot >= process::SharedRings::kLoans || loan.offset % tensor::kAlignment != 0)
    return fail(Code::kInvalidArgument, "{} bytes at {} are lent, where there are none", bytes, loan.offset);
  return std::make_shared<BorrowedStorage>(line_, theirs_, loan.slot, found->data());
}

}  // namespace tfd::transport
