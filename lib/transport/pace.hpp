#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// How fast a connection carries bytes, as its acknowledgments show, and the consequences: a slow one gets small
// chunks, so that their reader hears of the sender often enough, and little at a time, so that later messages don't
// wait for long. Every connection is slow until it has shown otherwise. Thread rule: a value without a clock.
#include <algorithm>
#include <cstdint>

#include "frame.hpp"
#include "tfd/base/deadline.hpp"

namespace tfd::transport {

/// Unacknowledged bytes in flight, at most: the memory that a slow reader costs us, and the bandwidth-delay product up
/// to which a connection is filled (16 MiB: 1 ms at 128 Gbit/s).
inline constexpr std::uint64_t kCreditWindow = 16 * 1024 * 1024;
/// The same for a slow connection: more than one acknowledgment's bytes.
inline constexpr std::uint64_t kSlowWindow = 1024 * 1024;
/// A tenth of a second at 1 Mbit/s.
inline constexpr std::size_t kSlowChunkBytes = 16 * 1024;
/// A connection that takes longer than this for kChunkBytes is slow: one of 8 Mbit/s or less.
inline constexpr Duration kSlow = std::chrono::milliseconds(250);

class Pace {
 public:
  std::uint64_t window() const { return window_; }
  std::size_t chunk_bytes() const { return window_ == kSlowWindow ? kSlowChunkBytes : kChunkBytes; }

  /// A chunk is about to leave, after `sent` bytes of the connection.
  void on_chunk(std::uint64_t sent, Clock::time_point now) {
    if (now - last_chunk_ > kSlow)
      begin(sent, now);  // earlier acknowledged bytes say when they were sent, not how fast
    last_chunk_ = now;
  }
  /// The reader has taken `taken` bytes of the connection.
  void on_credit(std::uint64_t taken, Clock::time_point now) {
    if (taken <= from_) return;
    const Duration took = now - since_;
    const std::uint64_t bytes = taken - from_;
    if (bytes < kChunkBytes && took < kSlow) return;
    const bool is_slow = seconds(took) * static_cast<double>(kChunkBytes) > seconds(kSlow) * static_cast<double>(bytes);
    window_ = is_slow ? kSlowWindow : std::min(2 * window_, kCreditWindow);
    begin(taken, now);
  }

 private:
  static double seconds(Duration duration) { return std::chrono::duration<double>(duration).count(); }
  void begin(std::uint64_t position, Clock::time_point now) {
    from_ = position;
    since_ = now;
  }
  std::uint64_t window_ = kSlowWindow;
  std::uint64_t from_ = 0;  // position and time at which what is measured begins
  Clock::time_point since_{}, last_chunk_{};
};

}  // namespace tfd::transport
