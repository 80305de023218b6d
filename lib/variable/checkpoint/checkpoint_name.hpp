#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// The names of checkpoint files. Private to the room. Thread rule: pure functions.
#include <fmt/format.h>

#include <charconv>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace tfd::variable {

inline std::string checkpoint_name(std::int64_t step) { return fmt::format("step-{:08}.safetensors", step); }

/// "step-00000200.safetensors" -> 200. Temporary files and strangers have other names.
inline std::optional<std::int64_t> step_of_checkpoint_name(std::string_view name) {
  constexpr std::string_view kPrefix = "step-", kSuffix = ".safetensors";
  if (!name.starts_with(kPrefix) || !name.ends_with(kSuffix) || name.size() <= kPrefix.size() + kSuffix.size())
    return std::nullopt;
  const std::string_view digits = name.substr(kPrefix.size(), name.size() - kPrefix.size() - kSuffix.size());
  std::int64_t step = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), step);
  if (error != std::errc() || end != digits.data() + digits.size() || step < 0) return std::nullopt;
  return step;
}

}  // namespace tfd::variable
