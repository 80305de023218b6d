#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Philox4x32-10, a counter-based generator: block n of a seed is a function of both, so any element can be drawn alone.
// Source: Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", SC'11. Thread rule: pure functions; a
// RandomBlocks is thread-compatible.
#include <array>
#include <cstdint>

namespace tfd::variable {

using PhiloxCounter = std::array<std::uint32_t, 4>;
using PhiloxKey = std::array<std::uint32_t, 2>;

inline PhiloxCounter philox4x32_10(PhiloxCounter counter, PhiloxKey key) {
  constexpr std::uint64_t kMultiplier0 = 0xD2511F53, kMultiplier1 = 0xCD9E8D57;
  constexpr std::uint32_t kWeyl0 = 0x9E3779B9, kWeyl1 = 0xBB67AE85;
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t product0 = kMultiplier0 * counter[0];
    const std::uint64_t product1 = kMultiplier1 * counter[2];
    counter = {static_cast<std::uint32_t>(product1 >> 32) ^ counter[1] ^ key[0], static_cast<std::uint32_t>(product1),
               static_cast<std::uint32_t>(product0 >> 32) ^ counter[3] ^ key[1], static_cast<std::uint32_t>(product0)};
    key = {key[0] + kWeyl0, key[1] + kWeyl1};
  }
  return counter;
}

/// Random words of one seed, addressed by position: word i of the stream is the same whoever asks, in whatever order.
/// Streams of one seed are independent of each other.
class RandomBlocks {
 public:
  explicit RandomBlocks(std::uint64_t seed)
      : key_{static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32)} {}
  PhiloxCounter block(std::uint64_t index, std::uint32_t stream = 0) const {
    return philox4x32_10({static_cast<std::uint32_t>(index), static_cast<std::uint32_t>(index >> 32), stream, 0}, key_);
  }

 private:
  PhiloxKey key_;
};

}  // namespace tfd::variable
