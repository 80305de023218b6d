#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// The small JSON files beside checkpoints (end.json, best.json, stop.json), read: what is missing or isn't what it
// should be is absent. Private to the room. Thread rule: pure functions.
#include <charconv>
#include <optional>
#include <string>

#include "tfd/base/file.hpp"
#include "tfd/cluster/json_value.hpp"

namespace tfd::strategy {

inline std::optional<cluster::JsonValue> load_note(const std::string& path, std::uint64_t most = 64 << 10) {
  const auto text = load_file(path, most);
  if (!text) return std::nullopt;
  auto note = cluster::parse_json(*text, path);
  if (!note) return std::nullopt;
  return std::move(*note);
}

inline std::string text_in(const cluster::JsonValue& object, std::string_view key) {
  const cluster::JsonValue* value = object.find(key);
  return value != nullptr ? value->text : std::string();
}

template <class T>
std::optional<T> number_of(const cluster::JsonValue& value) {
  T number{};
  const std::string& text = value.text;  // of infinities, too
  if (text.empty() || std::from_chars(text.data(), text.data() + text.size(), number).ec != std::errc())
    return std::nullopt;
  return number;
}

template <class T>
std::optional<T> number_in(const cluster::JsonValue& object, std::string_view key) {
  const cluster::JsonValue* value = object.find(key);
  return value != nullptr ? number_of<T>(*value) : std::nullopt;
}

}  // namespace tfd::strategy
