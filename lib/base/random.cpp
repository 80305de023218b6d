// SPDX-License-Identifier: Apache-2.0
#include "tfd/base/random.hpp"

#include <fmt/format.h>
#include <sys/random.h>

#include <cerrno>
#include <cstdlib>
#include <vector>

namespace tfd {

void fill_random(std::span<std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t got = ::getrandom(bytes.data(), bytes.size(), 0);
    if (got < 0 && errno != EINTR) std::abort();
    if (got > 0) bytes = bytes.subspan(static_cast<std::size_t>(got));
  }
}

std::uint64_t random_bits() {
  std::uint64_t out = 0;
  fill_random(std::as_writable_bytes(std::span(&out, 1)));
  return out;
}

std::string hex_of(std::span<const std::byte> bytes) {
  std::string out;
  for (const std::byte one : bytes) out += fmt::format("{:02x}", static_cast<unsigned>(one));
  return out;
}

std::string random_text(std::size_t bytes) {
  std::vector<std::byte> random(bytes);
  fill_random(random);
  return hex_of(random);
}

}  // namespace tfd
