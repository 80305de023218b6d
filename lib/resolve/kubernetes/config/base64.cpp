// SPDX-License-Identifier: Apache-2.0
#include "base64.hpp"

#include <cstdint>

namespace tfd::resolve::kubernetes {
namespace {

int value_of(char c) {
  if (c >= 'A' && c <= 'Z') return c - 'A';
  if (c >= 'a' && c <= 'z') return c - 'a' + 26;
  if (c >= '0' && c <= '9') return c - '0' + 52;
  if (c == '+') return 62;
  return c == '/' ? 63 : -1;
}

}  // namespace

std::optional<std::string> base64_decoded(std::string_view text) {
  std::string out;
  out.reserve(text.size() / 4 * 3);
  std::uint32_t bits = 0;
  int held = 0;  // characters of the group of four
  int padding = 0;
  for (const char c : text) {
    if (c == '\n' || c == '\r' || c == ' ' || c == '\t') continue;
    if (c == '=') {
      if (held < 2 || ++padding + held > 4) return std::nullopt;
      continue;
    }
    const int value = value_of(c);
    if (value < 0 || padding > 0) return std::nullopt;
    bits = bits << 6 | static_cast<std::uint32_t>(value);
    if (++held < 4) continue;
    out += {static_cast<char>(bits >> 16 & 0xff), static_cast<char>(bits >> 8 & 0xff), static_cast<char>(bits & 0xff)};
    bits = 0;
    held = 0;
  }
  if (held == 0 && padding == 0) return out;
  if (held + padding != 4) return std::nullopt;
  out += static_cast<char>(bits >> (held == 2 ? 4 : 10) & 0xff);
  if (held == 3) out += static_cast<char>(bits >> 2 & 0xff);
  return out;
}

}  // namespace tfd::resolve::kubernetes
