#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Random bits of the operating system's: for secrets, names that nobody has, and seeds. Thread rule: thread-safe.
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace tfd {

/// Blocks only while the system starts. It ends the process where the system has no random bits.
void fill_random(std::span<std::byte> bytes);
std::uint64_t random_bits();
/// Two digits for each byte: "0af3".
std::string hex_of(std::span<const std::byte> bytes);
/// Returns `bytes` random bytes in hexadecimal; 16 of them make a unique, unguessable name.
std::string random_text(std::size_t bytes = 16);

}  // namespace tfd
