// SPDX-License-Identifier: Apache-2.0
#include "tfd/tensor/json_object.hpp"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "tfd/base/names.hpp"
#include "tfd/base/text.hpp"

namespace tfd::tensor {
namespace {

using Json = nlohmann::ordered_json;

std::string_view type_text(const Json& value) {
  switch (value.type()) {
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

std::string value_text(const Json& value) {
  if (value.is_structured()) return std::string(type_text(value));
  const std::string text = printable(value.dump(-1, ' ', false, Json::error_handler_t::replace));
  return text.size() <= 40 ? text : text.substr(0, 37) + "...";
}

std::optional<double> number_of(const Json& value, NumberRange range) {
  const double number = value.is_number() ? value.get<double>() : std::nan("");
  if (std::isfinite(number) && number >= range.least && number <= range.most) return number;
  return std::nullopt;
}

/// "a", "b" or "c".
std::string choices_text(std::span<const std::string> choices) {
  std::string out;
  for (std::size_t i = 0; i < choices.size(); ++i)
    out += fmt::format("{}\"{}\"", i == 0 ? "" : i + 1 < choices.size() ? ", " : " or ", choices[i]);
  return out;
}

}  // namespace

std::optional<std::int64_t> integer_of(const Json& value) {
  if (value.is_number_unsigned()) {
    const auto number = value.get<std::uint64_t>();
    return std::in_range<std::int64_t>(number) ? std::optional(static_cast<std::int64_t>(number)) : std::nullopt;
  }
  if (value.is_number_integer()) return value.get<std::int64_t>();
  constexpr double kExact = 9007199254740992.0;  // 2^53: up to it a double represents every integer
  const auto number = number_of(value, {-kExact, kExact});
  return number && *number == std::floor(*number) ? std::optional(static_cast<std::int64_t>(*number)) : std::nullopt;
}

std::string child_path(const std::string& path, std::string_view key) {
  return path.empty() ? std::string(key) : fmt::format("{}.{}", path, key);
}

std::string JsonValue::dump() const { return json_->dump(); }
bool JsonValue::is_object() const { return json_->is_object(); }
bool JsonValue::is_list() const { return json_->is_array(); }
bool JsonValue::is_text() const { return json_->is_string(); }
bool JsonValue::is_number() const { return json_->is_number(); }
bool JsonValue::is_bool() const { return json_->is_boolean(); }
bool JsonValue::is_null() const { return json_->is_null(); }
bool JsonValue::has(std::string_view key) const { return json_->is_object() && json_->contains(key); }

tl::unexpected<Error> JsonValue::fail_text(Code code, std::string text) const {
  text = printable(text);
  return tfd::fail(Error{code, path_.empty() ? text : fmt::format("{}: {}", path_, text), {}});
}

tl::unexpected<Error> JsonValue::fail_type(std::string_view what) const {
  return fail("must be {}, not {}", what, type_text(*json_));
}

tl::unexpected<Error> JsonValue::fail_value(std::string_view what) const {
  return fail("must be {}, not {}", what, value_text(*json_));
}

tl::unexpected<Error> JsonValue::fail_unknown(std::string_view key, std::span<const std::string_view> known) const {
  const std::vector<std::string> names(known.begin(), known.end());
  const auto meant = find_abbreviated(key, names);
  return fail("unknown key{}", meant ? fmt::format(", did you mean '{}'?", *meant) : did_you_mean(key, names));
}

std::optional<JsonValue> JsonValue::find(std::string_view key) const {
  if (!json_->is_object()) return std::nullopt;
  const auto found = json_->find(key);
  if (found == json_->end()) return std::nullopt;
  return JsonValue(*found, child_path(path_, printable(key)));
}

Result<JsonValue> JsonValue::member(std::string_view key) const {
  auto found = find(key);
  if (!found) return fail("needs '{}'", key);
  return *found;
}

Result<std::pair<std::string, JsonValue>> JsonValue::only_member(std::string_view example) const {
  if (!json_->is_object() || json_->size() != 1) return fail("must be an object with one key, such as {}", example);
  return members().front();
}

std::optional<std::pair<std::string, JsonValue>> JsonValue::find_unknown(
    std::span<const std::string_view> known) const {
  for (auto& member : members())
    if (std::ranges::find(known, member.first) == known.end()) return std::move(member);
  return std::nullopt;
}

std::vector<std::pair<std::string, JsonValue>> JsonValue::members() const {
  std::vector<std::pair<std::string, JsonValue>> all;
  for (const auto& [key, value] : json_->items())
    all.emplace_back(key, JsonValue(value, child_path(path_, printable(key))));
  return all;
}

std::vector<JsonValue> JsonValue::elements() const {
  std::vector<JsonValue> all;
  if (!is_list()) return all;
  for (std::size_t i = 0; i < json_->size(); ++i) all.emplace_back((*json_)[i], fmt::format("{}[{}]", path_, i));
  return all;
}

Result<std::string> JsonValue::text() const {
  auto text = TFD_TRY(any_text());
  if (text.empty()) return fail("must not be empty");
  return text;
}

Result<std::string> JsonValue::any_text() const {
  if (!is_text()) return fail_type("a string");
  return json_->get<std::string>();
}

Result<std::int64_t> JsonValue::integer(std::int64_t least) const {
  if (!is_number()) return fail_type("a whole number");
  const auto value = integer_of(*json_);
  if (!value && json_->is_number_integer()) return fail("{} is too large", dump());
  if (!value) return fail("must be a whole number, not {}", dump());
  if (*value < least && least == 1) return fail("must be positive, not {}", *value);
  if (*value < least) return fail("must be at least {}, not {}", least, *value);
  return *value;
}

Result<std::uint64_t> JsonValue::seed() const {
  if (json_->is_number_unsigned()) return json_->get<std::uint64_t>();
  const auto value = integer_of(*json_);
  if (!value || *value < 0) return fail("must be a whole number >= 0");
  return static_cast<std::uint64_t>(*value);
}

Result<double> JsonValue::number() const {
  if (!is_number()) return fail_type("a number");
  return json_->get<double>();
}

Result<double> JsonValue::number(NumberRange range) const {
  const auto number = number_of(*json_, range);
  if (!number) return fail_value(range.meaning);
  return *number;
}

Result<bool> JsonValue::boolean() const {
  if (!is_bool()) return fail_type("true or false");
  return json_->get<bool>();
}

Result<std::string> JsonValue::choice(const std::vector<std::string>& choices) const {
  const std::string list = choices_text(choices);
  if (!is_text()) return fail_type(list);
  auto text = json_->get<std::string>();
  if (std::ranges::find(choices, text) != choices.end()) return text;
  return fail("must be {}, not \"{}\"{}", list, text, did_you_mean(text, choices));
}

Result<std::vector<double>> JsonValue::numbers(NumberRange range) const {
  std::vector<double> out;
  for (const JsonValue& element : elements())
    if (const auto number = number_of(element.json(), range)) out.push_back(*number);
  if (!is_list() || out.size() != json_->size()) return fail("must be a list, each of it {}", range.meaning);
  return out;
}

Result<std::vector<std::string>> JsonValue::texts() const {
  std::vector<std::string> out;
  if (!is_list() || !std::ranges::all_of(*json_, &Json::is_string)) return fail("must be a list of strings");
  for (const Json& element : *json_) out.push_back(element.get<std::string>());
  return out;
}

JsonObject::JsonObject(JsonValue value) : value_(std::move(value)) {
  if (!value_.is_object()) note(Error(value_.fail_type("an object").value()));
}

void JsonObject::note(std::string_view key, std::string_view what, Code code) {
  note(Error{code, fmt::format("{}: {}", child_path(path(), printable(key)), what), {}});
}

void JsonObject::note(Error error) {
  if (!error_) error_ = std::move(error);
}

/// Reads the value of a key with `read`, and notes its error.
template <class Read>
auto JsonObject::read(std::string_view key, bool is_required, const Read& read) {
  using Value = typename decltype(read(value_))::value_type;
  known_.emplace_back(key);
  const auto value = value_.find(key);
  if (!value && is_required) note(key, "is missing");
  if (!value) return std::optional<Value>();
  auto got = read(*value);
  if (got) return std::optional<Value>(std::move(*got));
  note(std::move(got).error());
  return std::optional<Value>();
}

std::optional<std::int64_t> JsonObject::integer(std::string_view key, std::int64_t least) {
  return read(key, false, [&](const JsonValue& value) { return value.integer(least); });
}

std::optional<double> JsonObject::number(std::string_view key, NumberRange range) {
  return read(key, false, [&](const JsonValue& value) { return value.number(range); });
}

std::optional<std::int64_t> JsonObject::nullable_integer(std::string_view key, std::int64_t least) {
  if (!is_null(key)) return integer(key, least);
  known_.emplace_back(key);
  return std::nullopt;
}

std::optional<double> JsonObject::nullable_number(std::string_view key, NumberRange range) {
  if (!is_null(key)) return number(key, range);
  known_.emplace_back(key);
  return std::nullopt;
}

std::optional<std::uint64_t> JsonObject::seed(std::string_view key) {
  return read(key, false, [](const JsonValue& value) { return value.seed(); });
}

std::optional<std::string> JsonObject::text(std::string_view key) {
  return read(key, false, [](const JsonValue& value) { return value.any_text(); });
}

std::string JsonObject::choice(std::string_view key, std::string_view fallback,
                               const std::vector<std::string>& choices) {
  auto text = read(key, false, [&](const JsonValue& value) { return value.choice(choices); });
  return std::move(text).value_or(std::string(fallback));
}

bool JsonObject::flag(std::string_view key, bool fallback) {
  return read(key, false, [](const JsonValue& value) { return value.boolean(); }).value_or(fallback);
}

std::vector<std::string> JsonObject::texts(std::string_view key) {
  return read(key, false, [](const JsonValue& value) { return value.texts(); }).value_or(std::vector<std::string>());
}

std::int64_t JsonObject::required_integer(std::string_view key, std::int64_t least) {
  return read(key, true, [&](const JsonValue& value) { return value.integer(least); }).value_or(least);
}

double JsonObject::required_number(std::string_view key, NumberRange range) {
  return read(key, true, [&](const JsonValue& value) { return value.number(range); }).value_or(0);
}

std::vector<double> JsonObject::required_numbers(std::string_view key, NumberRange range) {
  auto numbers = read(key, true, [&](const JsonValue& value) { return value.numbers(range); });
  return std::move(numbers).value_or(std::vector<double>());
}

std::string JsonObject::required_text(std::string_view key) {
  return read(key, true, [](const JsonValue& value) { return value.text(); }).value_or("");
}

const Json* JsonObject::find(std::string_view key) {
  known_.emplace_back(key);
  const auto value = value_.find(key);
  return value ? &value->json() : nullptr;
}

const Json* JsonObject::required(std::string_view key) {
  const Json* const value = find(key);
  if (value == nullptr) note(key, "is missing");
  return value;
}

std::vector<std::pair<std::string, JsonValue>> JsonObject::members(std::string_view key) {
  known_.emplace_back(key);
  const auto value = value_.find(key);
  if (value && value->is_object()) return value->members();
  if (value) note(Error(value->fail_type("an object").value()));
  return {};
}

bool JsonObject::is_null(std::string_view key) const {
  const auto value = value_.find(key);
  return value && value->is_null();
}

void JsonObject::refuse(std::string_view key, Code code, std::string_view why) {
  refused_.emplace_back(key);
  if (has(key)) note(key, why, code);
}

Result<void> JsonObject::finish() {
  if (value_.is_object()) {
    std::vector<std::string_view> accepted(known_.begin(), known_.end());
    const std::vector<std::string_view> known = accepted;
    accepted.insert(accepted.end(), refused_.begin(), refused_.end());
    if (const auto unknown = value_.find_unknown(accepted)) return unknown->second.fail_unknown(unknown->first, known);
  }
  if (error_) return fail(*error_);
  return {};
}

}  // namespace tfd::tensor
