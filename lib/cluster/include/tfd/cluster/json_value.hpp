#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// A JSON document as the rooms cluster and resolve need it: members in their order, numbers as they were written, so
// that unknown members are passed on unchanged. A repeated key has its last value, in the first one's place, as in
// Python's json. Nesting and the number of values are bounded. Thread rule: plain values.
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tfd/base/error.hpp"

namespace tfd::cluster {

struct JsonValue {
  enum class Kind { kNull, kBool, kInteger, kFloat, kString, kArray, kObject };
  Kind kind = Kind::kNull;
  bool boolean = false;
  std::string text;               // a string's characters, or a number as written
  std::vector<std::string> keys;  // of an object, one per item
  std::vector<JsonValue> items;

  bool is(Kind other) const { return kind == other; }
  /// nullptr where it isn't an object or has no such member.
  const JsonValue* find(std::string_view key) const;
  void set(std::string key, JsonValue value);
};

/// kInvalidArgument: "TF_CONFIG: not JSON: line 1, column 12: unexpected end of input".
Result<JsonValue> parse_json(std::string_view text, std::string_view source);
/// On one line with ", " and ": ", as Python prints it.
void append_json(std::string& out, const JsonValue& value);

/// "a string", "a number", "null": for messages about what was found instead.
std::string_view kind_name(const JsonValue& value);

/// Python's int(): 1, 1.0, "1", true. nullopt for what int() refuses and what no int holds.
std::optional<int> to_int(const JsonValue& value);

}  // namespace tfd::cluster
