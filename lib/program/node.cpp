// SPDX-License-Identifier: Apache-2.0
#include "node.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "tfd/base/text.hpp"

namespace tfd::program {
namespace {

using Json = nlohmann::ordered_json;

std::string_view type_text(const Json& json) {
  switch (json.type()) {
    case Json::value_t::null:
      return "null";
    case Json::value_t::object:
      return "an object";
    case Json::value_t::array:
      return "a list";
    case Json::value_t::string:
      return "a string";
    case Json::value_t::boolean:
      return "a bool";
    default:
      return "a number";
  }
}

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

std::string child_path(const std::string& path, std::string_view key) {
  return path.empty() ? std::string(key) : fmt::format("{}.{}", path, key);
}

}  // namespace

std::string Node::dump() const { return json_->dump(); }
bool Node::is_object() const { return json_->is_object(); }
bool Node::is_list() const { return json_->is_array(); }
bool Node::is_text() const { return json_->is_string(); }
bool Node::is_number() const { return json_->is_number(); }
bool Node::is_bool() const { return json_->is_boolean(); }
bool Node::has(std::string_view key) const { return json_->is_object() && json_->contains(key); }

tl::unexpected<Error> Node::fail_text(Code code, std::string text) const {
  text = printable(text);
  return tfd::fail(Error{code, path_.empty() ? text : fmt::format("{}: {}", path_, text), {}});
}

tl::unexpected<Error> Node::fail_type(std::string_view what) const {
  return fail("must be {}, not {}", what, type_text(*json_));
}

Result<void> Node::expect_object(std::span<const std::string_view> known) const {
  if (!json_->is_object()) return fail_type("an object");
  for (const auto& [key, value] : json_->items()) {
    if (std::find(known.begin(), known.end(), key) != known.end()) continue;
    const Node child(value, child_path(path_, printable(key)));
    if (const auto meant = find_synonym(key, known))
      return child.fail("unknown key, did you mean '{}'?", child_path(path_, *meant));
    std::vector<std::string> names(known.begin(), known.end());
    return child.fail("unknown key{}", did_you_mean(key, names));
  }
  return {};
}

std::optional<Node> Node::find(std::string_view key) const {
  if (!json_->is_object()) return std::nullopt;
  const auto found = json_->find(key);
  if (found == json_->end()) return std::nullopt;
  return Node(*found, child_path(path_, key));
}

Result<Node> Node::member(std::string_view key) const {
  auto found = find(key);
  if (!found) return fail("needs '{}'", key);
  return *found;
}

std::vector<std::pair<std::string, Node>> Node::members() const {
  std::vector<std::pair<std::string, Node>> all;
  for (const auto& [key, value] : json_->items()) all.emplace_back(key, Node(value, child_path(path_, printable(key))));
  return all;
}

std::vector<Node> Node::elements() const {
  std::vector<Node> all;
  for (std::size_t i = 0; i < json_->size(); ++i) all.emplace_back((*json_)[i], fmt::format("{}[{}]", path_, i));
  return all;
}

Result<std::string> Node::text() const {
  if (!json_->is_string()) return fail_type("a string");
  auto text = json_->get<std::string>();
  if (text.empty()) return fail("must not be empty");
  return text;
}

Result<std::string> Node::any_text() const {
  if (!json_->is_string()) return fail_type("a string");
  return json_->get<std::string>();
}

Result<std::int64_t> Node::integer(std::int64_t least) const {
  if (!json_->is_number()) return fail_type("a whole number");
  if (!json_->is_number_integer()) {
    constexpr double kExact = 9007199254740992.0;  // 2^53: up to it a double represents every integer
    const auto value = json_->get<double>();
    if (value != std::floor(value) || std::abs(value) > kExact)
      return fail("must be a whole number, not {}", json_->dump());
    return at_least(static_cast<std::int64_t>(value), least);  // 1e3
  }
  const bool too_large =
      json_->is_number_unsigned() &&
      json_->get<std::uint64_t>() > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
  if (too_large) return fail("{} is too large", json_->dump());
  return at_least(json_->get<std::int64_t>(), least);
}

Result<std::int64_t> Node::at_least(std::int64_t value, std::int64_t least) const {
  if (value < least && least == 1) return fail("must be positive, not {}", value);
  if (value < least) return fail("must be at least {}, not {}", least, value);
  return value;
}

Result<double> Node::number() const {
  if (!json_->is_number()) return fail_type("a number");
  return json_->get<double>();
}

Result<bool> Node::boolean() const {
  if (!json_->is_boolean()) return fail_type("true or false");
  return json_->get<bool>();
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
