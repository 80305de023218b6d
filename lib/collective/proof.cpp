// SPDX-License-Identifier: Apache-2.0
#include "proof.hpp"

#include "tfd/base/bytes.hpp"
#include "tfd/base/random.hpp"
#include "tfd/base/sha256.hpp"

namespace tfd::collective {

Digest hmac_sha256(const Secret& key, std::string_view text) {
  constexpr std::size_t kBlock = 64;
  std::array<std::byte, kBlock> inner, outer;
  inner.fill(std::byte{0x36});
  outer.fill(std::byte{0x5c});
  for (std::size_t i = 0; i < key.size(); ++i) {
    inner[i] ^= key[i];
    outer[i] ^= key[i];
  }
  Sha256 first, second;
  first.add(as_text(inner));
  first.add(text);
  second.add(as_text(outer));
  second.add(as_text(first.digest()));
  return second.digest();
}

bool same_digest(const Digest& a, const Digest& b) {
  std::byte differs{0};
  for (std::size_t i = 0; i < a.size(); ++i) differs |= a[i] ^ b[i];
  return differs == std::byte{0};
}

Secret make_secret() {
  Secret out;
  fill_random(out);
  return out;
}

}  // namespace tfd::collective
