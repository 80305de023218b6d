#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Small helpers for messages and names that several rooms need.
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tfd {

/// The candidate nearest to `word` by edit distance, if it is near enough to be what was meant.
std::optional<std::string> find_nearest(std::string_view word, std::span<const std::string> candidates);
/// ", did you mean 'x'?" or nothing.
std::string did_you_mean(std::string_view word, std::span<const std::string> candidates);

/// "a, b and c".
std::string join_words(std::span<const std::string> words);
/// Pieces between separators, empty ones included; one empty piece for an empty text.
std::vector<std::string> split(std::string_view text, char separator);
/// White space in JSON and in Slurm's lists: space, tab, line feed, carriage return.
inline bool is_space(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }
/// Control characters (escape sequences of terminals) replaced by '?': for everything that came from elsewhere.
std::string printable(std::string_view text);
/// `*` matches any run of characters, everything else itself: for "enc/*".
bool matches_glob(std::string_view pattern, std::string_view text);

// ---- A count with its noun, for messages.

/// "1 closure", "2 closures", "0 closures".
std::string counted(std::uint64_t count, std::string_view what);

}  // namespace tfd
