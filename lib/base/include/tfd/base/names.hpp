#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// One table per enum: drives JSON, command-line choices, help and completions.
//
//   constexpr NameTable<Color, 2> kColors{{{{Color::kRed, "red"}, {Color::kBlue, "blue"}}}};
//   kColors.name(Color::kRed) == "red";  kColors.find("blue") == Color::kBlue
#include <array>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tfd {

template <class Enum, std::size_t Count>
struct NameTable {
  std::array<std::pair<Enum, std::string_view>, Count> entries;

  constexpr std::string_view name(Enum value) const {
    for (const auto& [entry, text] : entries)
      if (entry == value) return text;
    return "?";
  }
  constexpr std::optional<Enum> find(std::string_view text) const {
    for (const auto& [entry, name] : entries)
      if (name == text) return entry;
    return std::nullopt;
  }
  std::vector<std::string> names() const {
    std::vector<std::string> all;
    for (const auto& [entry, text] : entries) all.emplace_back(text);
    return all;
  }
};

// ---- Names that people shorten to the initials of their words.

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
