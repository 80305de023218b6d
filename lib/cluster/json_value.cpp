// SPDX-License-Identifier: Apache-2.0
#include "tfd/cluster/json_value.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <unordered_map>

#include "tfd/base/json_line.hpp"
#include "tfd/base/text.hpp"

namespace tfd::cluster {
namespace {

constexpr std::size_t kDeepest = 100;
constexpr std::size_t kMostValues = 4'000'000;  // a value takes some 90 bytes, in a text it may take two

/// Builds the value while nlohmann's parser reads: its own document would print numbers in another form and look up
/// every member of an ordered object from the start.
class Builder final : public nlohmann::json_sax<nlohmann::json> {
 public:
  bool null() override { return add({}); }
  bool boolean(bool value) override {
    JsonValue out{.kind = JsonValue::Kind::kBool};
    out.boolean = value;
    return add(std::move(out));
  }
  bool number_integer(number_integer_t value) override { return add_number(fmt::format("{}", value), true); }
  bool number_unsigned(number_unsigned_t value) override { return add_number(fmt::format("{}", value), true); }
  bool number_float(number_float_t, const string_t& written) override {
    return add_number(written, written.find_first_of(".eE") == std::string::npos);
  }
  bool string(string_t& value) override {
    JsonValue out{.kind = JsonValue::Kind::kString};
    out.text = std::move(value);
    return add(std::move(out));
  }
  bool binary(binary_t&) override { return false; }
  bool start_object(std::size_t) override { return open(JsonValue::Kind::kObject); }
  bool start_array(std::size_t) override { return open(JsonValue::Kind::kArray); }
  bool key(string_t& name) override {
    open_.back().keys.push_back(std::move(name));
    return true;
  }
  bool end_object() override {
    keep_last_of_each(open_.back());
    return close();
  }
  bool end_array() override { return close(); }
  bool parse_error(std::size_t position, const std::string&, const nlohmann::detail::exception& error) override {
    // "[json.exception.parse_error.101] parse error at line 1, column 12: syntax error while parsing value - unexpected
    // end of input; expected …", or "[json.exception.out_of_range.406] number overflow parsing '1e400'"
    std::string_view text(error.what());
    if (dynamic_cast<const nlohmann::json::out_of_range*>(&error) != nullptr) {
      reason_ = fmt::format("byte {}: {}", position, printable(text.substr(text.find("] ") + 2)));
      return false;
    }
    if (const std::size_t at = text.find("line "); at != std::string_view::npos) text.remove_prefix(at);
    const std::string_view place = text.substr(0, text.find(':'));
    if (const std::size_t dash = text.find(" - "); dash != std::string_view::npos) text.remove_prefix(dash + 3);
    reason_ = fmt::format("{}: {}", place, printable(text));
    return false;
  }

  JsonValue root_;
  std::string reason_;

 private:
  bool add(JsonValue value) {
    if (++values_ > kMostValues) {
      reason_ = fmt::format("more than {} values", kMostValues);
      return false;
    }
    (open_.empty() ? root_ : open_.back().items.emplace_back()) = std::move(value);
    return true;
  }
  bool add_number(std::string written, bool whole) {
    JsonValue out{.kind = whole ? JsonValue::Kind::kInteger : JsonValue::Kind::kFloat};
    out.text = std::move(written);
    return add(std::move(out));
  }
  bool open(JsonValue::Kind kind) {
    if (open_.size() >= kDeepest) {
      reason_ = fmt::format("nested deeper than {}", kDeepest);
      return false;
    }
    open_.push_back({.kind = kind});
    return true;
  }
  bool close() {
    JsonValue done = std::move(open_.back());
    open_.pop_back();
    return add(std::move(done));
  }
  static void keep_last_of_each(JsonValue& object) {
    std::unordered_map<std::string_view, std::size_t> first;
    first.reserve(object.keys.size());
    bool repeated = false;
    for (std::size_t i = 0; i < object.keys.size(); ++i) {
      const auto [found, fresh] = first.try_emplace(object.keys[i], i);
      if (fresh) continue;
      object.items[found->second] = std::move(object.items[i]);
      object.items[i].kind = JsonValue::Kind::kNull;
      repeated = true;
    }
    if (!repeated) return;
    JsonValue kept{.kind = JsonValue::Kind::kObject};
    for (std::size_t i = 0; i < object.keys.size(); ++i)
      if (first.at(object.keys[i]) == i) kept.items.push_back(std::move(object.items[i]));
    std::size_t next = 0;
    std::vector<std::string> keys(kept.items.size());
    for (std::size_t i = 0; i < object.keys.size(); ++i)
      if (first.at(object.keys[i]) == i) keys[next++] = object.keys[i];
    kept.keys = std::move(keys);
    object = std::move(kept);
  }

  std::vector<JsonValue> open_;
  std::size_t values_ = 0;
};

std::optional<int> int_of_text(std::string_view text) {
  while (!text.empty() && std::string_view(" \t\n\r\v\f").find(text.front()) != std::string_view::npos)
    text.remove_prefix(1);
  while (!text.empty() && std::string_view(" \t\n\r\v\f").find(text.back()) != std::string_view::npos)
    text.remove_suffix(1);
  const bool negative = text.starts_with('-');
  if (negative || text.starts_with('+')) text.remove_prefix(1);
  std::string digits(negative ? "-" : "");
  bool after_digit = false;
  for (const char c : text) {  // int("1_000") is 1000; no underscore at either end, no two in a row
    if (c == '_' ? !after_digit : c < '0' || c > '9') return std::nullopt;
    after_digit = c != '_';
    if (after_digit) digits += c;
  }
  if (!after_digit) return std::nullopt;
  int value = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  return error == std::errc{} && end == digits.data() + digits.size() ? std::optional(value) : std::nullopt;
}

}  // namespace

const JsonValue* JsonValue::find(std::string_view key) const {
  if (kind != Kind::kObject) return nullptr;
  for (std::size_t i = 0; i < keys.size(); ++i)
    if (keys[i] == key) return &items[i];
  return nullptr;
}

void JsonValue::set(std::string key, JsonValue value) {
  kind = Kind::kObject;
  const auto found = std::find(keys.begin(), keys.end(), key);
  if (found != keys.end()) {
    items[static_cast<std::size_t>(found - keys.begin())] = std::move(value);
    return;
  }
  keys.push_back(std::move(key));
  items.push_back(std::move(value));
}

Result<JsonValue> parse_json(std::string_view text, std::string_view source) {
  Builder builder;
  if (!nlohmann::json::sax_parse(text.begin(), text.end(), &builder))
    return fail(Code::kInvalidArgument, "{}: not JSON: {}", source,
                builder.reason_.empty() ? "can't be read" : builder.reason_);
  return std::move(builder.root_);
}

void append_json(std::string& out, const JsonValue& value) {
  using Kind = JsonValue::Kind;
  switch (value.kind) {
    case Kind::kNull:
      out += "null";
      return;
    case Kind::kBool:
      out += value.boolean ? "true" : "false";
      return;
    case Kind::kInteger:
    case Kind::kFloat:
      out += value.text;
      return;
    case Kind::kString:
      append_json_string(value.text, out);
      return;
    case Kind::kArray:
    case Kind::kObject:
      break;
  }
  const bool object = value.is(Kind::kObject);
  out += object ? '{' : '[';
  for (std::size_t i = 0; i < value.items.size(); ++i) {
    if (i > 0) out += ", ";
    if (object) {
      append_json_string(value.keys[i], out);
      out += ": ";
    }
    append_json(out, value.items[i]);
  }
  out += object ? '}' : ']';
}

std::string_view kind_name(const JsonValue& value) {
  switch (value.kind) {
    case JsonValue::Kind::kNull:
      return "null";
    case JsonValue::Kind::kBool:
      return "a bool";
    case JsonValue::Kind::kInteger:
    case JsonValue::Kind::kFloat:
      return "a number";
    case JsonValue::Kind::kString:
      return "a string";
    case JsonValue::Kind::kArray:
      return "a list";
    case JsonValue::Kind::kObject:
      return "an object";
  }
  return "?";
}

std::optional<int> to_int(const JsonValue& value) {
  switch (value.kind) {
    case JsonValue::Kind::kBool:
      return value.boolean ? 1 : 0;
    case JsonValue::Kind::kInteger:
    case JsonValue::Kind::kString:
      return int_of_text(value.text);
    case JsonValue::Kind::kFloat: {
      double number = 0;
      const auto [end, error] = std::from_chars(value.text.data(), value.text.data() + value.text.size(), number);
      if (error != std::errc{} || !(std::abs(number) < 2147483648.0)) return std::nullopt;
      return static_cast<int>(number);
    }
    default:
      return std::nullopt;
  }
}

}  // namespace tfd::cluster
