#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Names that people shorten to the initials of their words. Thread rule: pure functions.
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace tfd {

/// The first of the names whose words, separated by '_' or '-', have these initials: "lr" is learning_rate. A single
/// letter, and a name of one word, is no abbreviation.
inline std::optional<std::string> find_abbreviated(std::string_view word, std::span<const std::string> names) {
  for (const std::string& name : names) {
    std::string initials;
    for (std::size_t i = 0; i < name.size(); ++i)
      if (i == 0 || name[i - 1] == '_' || name[i - 1] == '-') initials += name[i];
    if (initials.size() > 1 && initials == word) return name;
  }
  return std::nullopt;
}

}  // namespace tfd
