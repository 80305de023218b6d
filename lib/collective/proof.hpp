#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// How members prove that they know the secret without saying it. Source: RFC 2104 (HMAC) over SHA-256.
// Thread rule: pure functions.
#include <array>
#include <cstddef>
#include <string_view>

#include "tfd/collective/communicator.hpp"

namespace tfd::collective {

using Digest = std::array<std::byte, 32>;
using Nonce = std::array<std::byte, 32>;

Digest hmac_sha256(const Secret& key, std::string_view text);
/// Takes as long wherever the two differ.
bool same_digest(const Digest& a, const Digest& b);

}  // namespace tfd::collective
