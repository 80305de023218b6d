// SPDX-License-Identifier: Apache-2.0
#include "tfd/base/json_line.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

#include "utf8.hpp"

namespace tfd {

void append_json_string(std::string_view text, std::string& out) {
  // A table: a cluster of 10 000 tasks is a quarter of a million characters.
  static constexpr auto kPlain = [] {
    std::array<bool, 256> plain{};
    for (unsigned c = 0x20; c < 0x7f; ++c) plain[c] = c != '"' && c != '\\';
    return plain;
  }();
  const auto is_plain = [](char c) { return kPlain[static_cast<unsigned char>(c)]; };
  out += '"';
  while (!text.empty()) {
    const auto plain = static_cast<std::size_t>(std::find_if_not(text.begin(), text.end(), is_plain) - text.begin());
    out.append(text.data(), plain);
    text.remove_prefix(plain);
    if (text.empty()) break;
    const auto c = static_cast<unsigned char>(text.front());
    const std::size_t length = utf8_length(text);
    if (c == '"' || c == '\\') {
      out += '\\';
      out += text.front();
    } else if (c == '\n') {
      out += "\\n";
    } else if (c == '\t') {
      out += "\\t";
    } else if (c < 0x20 || c == 0x7f) {
      fmt::format_to(std::back_inserter(out), "\\u{:04x}", c);
    } else if (length == 0) {
      out += "\xef\xbf\xbd";
    } else {
      out += text.substr(0, length);
    }
    text.remove_prefix(std::max<std::size_t>(length, 1));
  }
  out += '"';
}

void append_json_number(double value, std::string& out) {
  if (std::isnan(value)) {
    out += "\"NaN\"";
  } else if (std::isinf(value)) {
    out += value > 0 ? "\"Infinity\"" : "\"-Infinity\"";
  } else {
    char digits[32];
    const auto [end, error] = std::to_chars(digits, digits + sizeof digits, value);
    out.append(digits, end);
  }
}

void JsonLine::begin(std::string_view key) {
  text_ += text_.empty() ? '{' : ',';
  append_json_string(key, text_);
  text_ += ':';
}

JsonLine& JsonLine::add(std::string_view key, std::string_view value) {
  begin(key);
  append_json_string(value, text_);
  return *this;
}

JsonLine& JsonLine::add(std::string_view key, std::int64_t value) {
  begin(key);
  fmt::format_to(std::back_inserter(text_), "{}", value);
  return *this;
}

JsonLine& JsonLine::add(std::string_view key, double value) {
  begin(key);
  append_json_number(value, text_);
  return *this;
}

JsonLine& JsonLine::add(std::string_view key, const std::vector<std::pair<std::string, double>>& values) {
  begin(key);
  text_ += '{';
  for (const auto& [name, value] : values) {
    if (text_.back() != '{') text_ += ',';
    append_json_string(name, text_);
    text_ += ':';
    append_json_number(value, text_);
  }
  text_ += '}';
  return *this;
}

JsonLine& JsonLine::add(std::string_view key, const Error& error) {
  JsonLine object("code", code_name(error.code));
  object.add("message", error.message);
  if (!error.task.empty()) object.add("task", error.task);
  begin(key);
  text_ += object.text_ + '}';
  return *this;
}

JsonLine& JsonLine::add_raw(std::string_view key, std::string_view json) {
  begin(key);
  text_ += json;
  return *this;
}

}  // namespace tfd
