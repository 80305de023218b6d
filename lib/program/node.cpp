// SPDX-License-Identifier: Apache-2.0
#include "node.hpp"

#include <algorithm>
#include <array>
#include <cctype>

#include "tfd/base/text.hpp"

namespace tfd::program {
namespace {

/// Words of Keras, PyTorch and others, and the keys that mean the same here.
constexpr std::array<std::pair<std::string_view, std::string_view>, 16> kSynonyms{{
    {"early_stopping", "stop"},
    {"earlystopping", "stop"},
    {"stopping", "stop"},
    {"monitor", "metric"},
    {"restore_best_weights", "restore_best"},
    {"validation", "evaluate"},
    {"validate", "evaluate"},
    {"val", "evaluate"},
    {"test", "evaluate"},
    {"ckpt", "checkpoint"},
    {"save", "checkpoint"},
    {"save_freq", "every"},
    {"max_to_keep", "keep"},
    {"timeout", "max_time"},
    {"parameters", "variables"},
    {"data", "datasets"},
}};

}  // namespace

Result<void> expect_object(const Node& node, std::span<const std::string_view> known) {
  if (!node.is_object()) return node.fail_type("an object");
  const auto unknown = node.find_unknown(known);
  if (!unknown) return {};
  const auto& [key, child] = *unknown;
  if (const auto meant = find_synonym(key, known))
    return child.fail("unknown key, did you mean '{}'?", tensor::child_path(node.path(), *meant));
  return child.fail_unknown(key, known);
}

Error continue_path(const std::string& path, Error error) {
  const std::string_view text = error.message;
  const auto end = std::find_if(text.begin(), text.end(), [](unsigned char c) {
    return std::isalnum(c) == 0 && c != '_' && c != '.' && c != '[' && c != ']';
  });
  const bool goes_on =
      end != text.begin() && text.substr(static_cast<std::size_t>(end - text.begin())).starts_with(": ");
  const std::string_view joint = text.starts_with('[') && goes_on ? "" : goes_on ? "." : ": ";
  error.message = fmt::format("{}{}{}", path, joint, text);
  return error;
}

std::optional<std::string_view> find_synonym(std::string_view word, std::span<const std::string_view> known) {
  for (const auto& [synonym, key] : kSynonyms)
    if (word == synonym && std::ranges::find(known, key) != known.end()) return key;
  return std::nullopt;
}

std::string unknown_text(std::string_view what, std::string_view name, std::span<const std::string> known) {
  if (find_nearest(name, known)) return fmt::format("{} '{}' is unknown{}", what, name, did_you_mean(name, known));
  if (known.empty()) return fmt::format("{} '{}' is unknown: the program has none", what, name);
  constexpr std::size_t kListed = 8;
  if (known.size() > kListed) return fmt::format("{} '{}' is unknown", what, name);
  std::vector<std::string> quoted;
  for (const std::string& entry : known) quoted.push_back(fmt::format("'{}'", entry));
  return fmt::format("{} '{}' is unknown (available: {})", what, name, join_words(quoted));
}

}  // namespace tfd::program
