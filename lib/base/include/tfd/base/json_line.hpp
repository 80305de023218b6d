#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// One JSON object, printed by hand in the order of its keys: events and answers are small and many.
// Thread rule: plain value.
//
//   std::move(JsonLine("event", "step").add("step", 100)).text() == R"({"event":"step","step":100})" "\n"
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tfd/base/error.hpp"

namespace tfd {

/// A JSON string with its quotes; bytes that aren't UTF-8 become U+FFFD.
void append_json_string(std::string_view text, std::string& out);
/// Shortest round-trip form; "NaN", "Infinity" and "-Infinity" as strings.
void append_json_number(double value, std::string& out);

class JsonLine {
 public:
  JsonLine() = default;
  JsonLine(std::string_view key, std::string_view value) { add(key, value); }
  JsonLine& add(std::string_view key, std::string_view value);
  JsonLine& add(std::string_view key, const char* value) { return add(key, std::string_view(value)); }
  JsonLine& add(std::string_view key, std::int64_t value);
  JsonLine& add(std::string_view key, int value) { return add(key, static_cast<std::int64_t>(value)); }
  JsonLine& add(std::string_view key, double value);
  JsonLine& add(std::string_view key, const std::vector<std::pair<std::string, double>>& values);
  /// {"code", "message", "task"}
  JsonLine& add(std::string_view key, const Error& error);
  /// Adds JSON text verbatim.
  JsonLine& add_raw(std::string_view key, std::string_view json);
  /// Returns the object, with a final newline.
  std::string text() && { return std::move(text_) + "}\n"; }
  /// Returns the object without its closing brace: the caller appends more.
  std::string_view open_text() const { return text_; }

 private:
  void begin(std::string_view key);
  std::string text_;
};

}  // namespace tfd
