#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Text as words of a POSIX shell. Thread rule: pure functions.
#include <algorithm>
#include <string>
#include <string_view>

namespace tfd {

/// 'it'\''s': one word, safe to eval in any POSIX shell.
inline std::string shell_quoted(std::string_view text) {
  std::string out = "'";
  for (const char c : text) {
    if (c == '\'') out += "'\\'";
    out += c;
  }
  return out += '\'';
}

/// The same, but as it is where no shell needs quotes.
inline std::string shell_word(std::string_view text) {
  const auto is_plain = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           std::string_view("_-./:,+@%=").find(c) != std::string_view::npos;
  };
  return !text.empty() && std::all_of(text.begin(), text.end(), is_plain) ? std::string(text) : shell_quoted(text);
}

}  // namespace tfd
