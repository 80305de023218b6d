#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// The names of checkpoints. Private to the room. Thread rule: pure functions.
#include <fmt/format.h>

#include <charconv>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace tfd::variable {

inline constexpr std::string_view kStepPrefix = "step-", kFileSuffix = ".safetensors";

/// Name of a checkpoint in parts, which is a directory.
inline std::string checkpoint_directory_name(std::int64_t step) { return fmt::format("{}{:08}", kStepPrefix, step); }
inline std::string checkpoint_name(std::int64_t step) {
  return checkpoint_directory_name(step) + std::string(kFileSuffix);
}
/// True for the name of a checkpoint in one file, false for that of a directory.
inline bool is_file_name(std::string_view name) { return name.ends_with(kFileSuffix); }

/// The name of the same step's checkpoint in the other form.
inline std::string other_form_of(std::string_view name) {
  return is_file_name(name) ? std::string(name.substr(0, name.size() - kFileSuffix.size()))
                            : std::string(name) + std::string(kFileSuffix);
}

/// "step-00000200.safetensors" -> 200, and "step-00000200", a directory, too. Temporary files and strangers have other
/// names.
inline std::optional<std::int64_t> step_of_checkpoint_name(std::string_view name) {
  if (!name.starts_with(kStepPrefix)) return std::nullopt;
  std::string_view digits = name.substr(kStepPrefix.size());
  if (is_file_name(digits)) digits.remove_suffix(kFileSuffix.size());
  std::int64_t step = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), step);
  if (error != std::errc() || end != digits.data() + digits.size() || step < 0) return std::nullopt;
  return step;
}

}  // namespace tfd::variable
