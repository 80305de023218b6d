#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Two rings of bytes, one each way, in memory that two processes share. A side keeps its own positions to itself and
// checks the other's whenever it reads them, so that a hostile peer can change bytes but not where they are looked for.
// The caller arranges how the sides meet and how to wake one that sleeps. Thread rule: each side lives on one thread,
// except give_back().
//
// Sleeping: prepare_to_sleep(), then sleep if it says so, then wake_up(). The other side's publish() or consume() says
// when that is awaited.
#include <cstddef>
#include <cstdint>
#include <span>

#include "tfd/base/error.hpp"
#include "tfd/process/fd.hpp"

namespace tfd::process {

/// Memory of `bytes`, all zeros, that nobody can make smaller or larger. kSystem, kResourceExhausted.
Result<Fd> make_sealed_memory(const char* name, std::size_t bytes);
/// The bytes of such memory; kInvalidArgument: it is something else.
Result<std::size_t> sealed_bytes(int descriptor);

class SharedRings {
 public:
  enum class Side { kMaker = 0, kTaker = 1 };

  /// Sealed memory for two rings of `ring_bytes` each, a power of two and at least a page. kSystem.
  static Result<Fd> make_memory(std::size_t ring_bytes);
  /// Maps such memory, whose descriptor may be closed after that. kInvalidArgument: it is something else. kSystem.
  static Result<SharedRings> map(const Fd& memory, std::size_t ring_bytes, Side side);
  SharedRings(SharedRings&& other) noexcept;
  SharedRings& operator=(SharedRings&&) = delete;
  ~SharedRings();

  /// Space that can be written now, in one piece; valid until publish(). kInvalidArgument: the other side lies.
  Result<std::span<std::byte>> room() const;
  /// Makes the first `size` bytes of room() readable. True: the other side waits for them, and must be woken.
  bool publish(std::size_t size);
  /// publish() in two steps, for a writer that puts several messages in a row and wakes the other side once.
  void put(std::size_t size);
  bool has_reader_waiting();

  /// Bytes that can be read now, in one piece; valid until consume(). The other side can change them at any time.
  /// kInvalidArgument: it lies.
  Result<std::span<const std::byte>> arrived() const;
  /// Gives the first `size` bytes of arrived() back. True: the other side waits for room, half of the ring is free by
  /// now, and it must be woken.
  bool consume(std::size_t size);

  /// Says for what this side is going to sleep: bytes, and so much room (at most half of the ring; 0: none). False: it
  /// is there by now.
  bool prepare_to_sleep(bool for_bytes, std::size_t for_room);
  /// Called after prepare_to_sleep(), whatever it said.
  void wake_up();

  /// Says, before it is sent, that a descriptor comes with a bell.
  void announce_gift();
  /// Whether the other side has said so: its other bells needn't be read.
  bool is_gift_announced() const;

  /// Marks of memory that a side lends to the other, which takes its own away from any thread. The sides agree on their
  /// meaning; a hostile one can only give back too early, or never.
  static constexpr std::size_t kLoans = 256;
  void mark_lent(std::size_t loan);
  bool is_lent(std::size_t loan) const;
  void give_back(std::size_t loan);
  /// Says that the other side may lend, and whether it has said so.
  void allow_loans();
  bool may_lend() const;

 private:
  struct Head;
  SharedRings(std::byte* base, std::size_t mapped, std::size_t ring_bytes, Side side);
  Head& head() const;
  std::byte* ring(int which) const;
  bool awaits(std::uint32_t what);
  int own() const { return static_cast<int>(side_); }
  int other() const { return 1 - own(); }

  std::byte* base_ = nullptr;  // mapped, and unmapped by this; each ring is mapped twice in a row
  std::size_t mapped_ = 0;
  std::size_t ring_bytes_ = 0;
  Side side_ = Side::kMaker;
  std::uint64_t written_ = 0, read_ = 0;
};

}  // namespace tfd::process
