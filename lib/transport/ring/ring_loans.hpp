#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Large tensors that one side of a connection reads where they lie in the other's memory. The lender hands over its
// heap once, marks a loan in the memory that both share, and keeps the tensor until the mark is gone: the borrower
// takes it away when it lets go of its tensor, on any thread, without a message. A connection that ends leaves its
// loans behind: their memory isn't used for anything else before the borrower has let go, or has ended. Thread rule:
// lives on the I/O thread; borrowed tensors live anywhere.
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "tfd/process/fd.hpp"
#include "tfd/process/shared_rings.hpp"
#include "tfd/tensor/shared_heap.hpp"
#include "wire.hpp"

namespace tfd::transport {

/// A connection, for as long as something of it is lent.
struct RingLine {
  process::Fd bell;  // its end tells the other side that nothing is borrowed
  process::SharedRings rings;
};

class RingLoans {
 public:
  explicit RingLoans(std::shared_ptr<RingLine> line) : line_(std::move(line)) {}

  /// Lends bytes, which lie in the heap, aligned, or are copied there, and keeps them. nullopt: they have to be sent.
  std::optional<Loan> lend(const std::shared_ptr<const tensor::Storage>& keep, std::span<const std::byte> bytes);
  /// Lets go of what the other side has given back.
  void settle();
  bool has_lent() const { return !lent_.empty(); }
  /// Keeps loans longer than the connection, and than this object.
  void leave_behind();
  /// Frees abandoned loans that are no longer read; called now and then.
  static void settle_left_behind();

  /// The other side's heap. From now on it may lend, if the heap can be mapped.
  void take_heap(const process::Fd& heap);
  bool has_heap() const { return theirs_ != nullptr; }
  /// Memory that the other side lends; its storage gives it back. kInvalidArgument: it hasn't lent that.
  Result<std::shared_ptr<tensor::Storage>> borrow(const Loan& loan, std::size_t bytes);

 private:
  struct Lent {
    std::uint32_t slot;
    std::size_t bytes;
    std::shared_ptr<const tensor::Storage> keep;
  };
  bool has_told();
  /// Whether the other end is closed, so that loans are no longer read.
  bool is_abandoned() const;
  std::optional<std::uint32_t> find_slot() const;

  std::shared_ptr<RingLine> line_;
  std::shared_ptr<tensor::BorrowedHeap> theirs_;
  std::vector<Lent> lent_;
  std::size_t lent_bytes_ = 0;
  bool has_told_ = false;  // the other side of the heap
};

}  // namespace tfd::transport
