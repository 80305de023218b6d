// SPDX-License-Identifier: Apache-2.0
#include "settings.hpp"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "tfd/base/names.hpp"
#include "tfd/base/text.hpp"

namespace tfd::variable {
std::string shown(const nlohmann::ordered_json& value) {
  if (value.is_structured()) return value.is_array() ? "a list" : "an object";
  const std::string text = printable(value.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace));
  return text.size() <= 40 ? text : text.substr(0, 37) + "...";
}

Settings::Settings(const nlohmann::ordered_json& object, std::string path) : object_(object), path_(std::move(path)) {
  if (!object_.is_object()) error_ = Error{Code::kInvalidArgument, path_ + ": must be an object", {}};
}

void Settings::note(Code code, std::string_view key, std::string_view what) {
  if (!error_) error_ = Error{code, fmt::format("{}.{}: {}", path_, printable(key), what), {}};
}

const nlohmann::ordered_json* Settings::find(std::string_view key, bool required) {
  known_.emplace_back(key);
  if (!object_.is_object()) return nullptr;
  const auto found = object_.find(std::string(key));
  if (found != object_.end()) return &*found;
  if (required) note(Code::kInvalidArgument, key, "is missing");
  return nullptr;
}

double Settings::number(std::string_view key, std::optional<double> fallback, NumberRange range) {
  const auto* value = find(key, !fallback);
  if (value == nullptr) return fallback.value_or(0);
  if (const auto number = number_of(*value, range)) return *number;
  note(Code::kInvalidArgument, key, fmt::format("must be {}, not {}", range.meaning, shown(*value)));
  return fallback.value_or(0);
}

std::optional<double> Settings::optional_number(std::string_view key, NumberRange range) {
  const auto* value = find(key, false);
  if (value == nullptr || value->is_null()) return std::nullopt;
  const auto number = number_of(*value, range);
  if (!number) note(Code::kInvalidArgument, key, fmt::format("must be {}, not {}", range.meaning, shown(*value)));
  return number;
}

std::optional<std::int64_t> Settings::optional_whole(std::string_view key, std::int64_t least) {
  const auto* value = find(key, false);
  if (value == nullptr || value->is_null()) return std::nullopt;
  const bool fits =
      value->is_number_integer() && !(value->is_number_unsigned() && value->get<std::uint64_t>() > INT64_MAX);
  if (fits && value->get<std::int64_t>() >= least) return value->get<std::int64_t>();
  note(Code::kInvalidArgument, key, fmt::format("must be a whole number >= {}, not {}", least, shown(*value)));
  return std::nullopt;
}

std::int64_t Settings::whole(std::string_view key, std::optional<std::int64_t> fallback, std::int64_t least) {
  if (!fallback && find(key, true) == nullptr) return least;
  return optional_whole(key, least).value_or(fallback.value_or(least));
}

std::vector<double> Settings::numbers(std::string_view key, NumberRange range) {
  std::vector<double> out;
  const auto* value = find(key, true);
  if (value == nullptr) return out;
  bool right = value->is_array();
  for (std::size_t i = 0; right && i < value->size(); ++i) {
    const auto number = number_of((*value)[i], range);
    right = number.has_value();
    out.push_back(number.value_or(0));
  }
  if (!right) note(Code::kInvalidArgument, key, fmt::format("must be a list, each of it {}", range.meaning));
  return out;
}

std::vector<std::string> Settings::texts(std::string_view key) {
  std::vector<std::string> out;
  const auto* value = find(key, false);
  if (value == nullptr) return out;
  bool right = value->is_array();
  for (std::size_t i = 0; right && i < value->size(); ++i) {
    right = (*value)[i].is_string();
    if (right) out.push_back((*value)[i].get<std::string>());
  }
  if (!right) note(Code::kInvalidArgument, key, "must be a list of strings");
  return out;
}

std::string Settings::text(std::string_view key, std::optional<std::string> fallback,
                           const std::vector<std::string>& choices) {
  const auto* value = find(key, !fallback);
  if (value == nullptr) return fallback.value_or("");
  const std::string said = value->is_string() ? value->get<std::string>() : "";
  if (said.empty()) {
    note(Code::kInvalidArgument, key, "must be a non-empty string");
  } else if (!choices.empty() && std::find(choices.begin(), choices.end(), said) == choices.end()) {
    note(Code::kInvalidArgument, key,
         fmt::format("must be one of {}, not '{}'{}", fmt::join(choices, ", "), printable(said),
                     did_you_mean(said, choices)));
  }
  return said;
}

bool Settings::flag(std::string_view key, bool fallback) {
  const auto* value = find(key, false);
  if (value == nullptr) return fallback;
  if (value->is_boolean()) return value->get<bool>();
  note(Code::kInvalidArgument, key, "must be true or false");
  return fallback;
}

std::optional<std::uint64_t> Settings::seed(std::string_view key) {
  const auto* value = find(key, false);
  if (value == nullptr) return std::nullopt;
  if (value->is_number_unsigned()) return value->get<std::uint64_t>();
  if (value->is_number_integer() && value->get<std::int64_t>() >= 0) return value->get<std::uint64_t>();
  note(Code::kInvalidArgument, key, "must be a whole number >= 0");
  return std::nullopt;
}

std::vector<std::pair<std::string, const nlohmann::ordered_json*>> Settings::members(std::string_view key) {
  std::vector<std::pair<std::string, const nlohmann::ordered_json*>> out;
  const auto* value = find(key, false);
  if (value == nullptr) return out;
  if (!value->is_object()) {
    note(Code::kInvalidArgument, key, "must be an object");
    return out;
  }
  for (auto member = value->begin(); member != value->end(); ++member) out.emplace_back(member.key(), &*member);
  return out;
}

bool Settings::has(std::string_view key) const { return object_.is_object() && object_.contains(std::string(key)); }

bool Settings::is_null(std::string_view key) const {
  const auto found = object_.is_object() ? object_.find(std::string(key)) : object_.end();
  return found != object_.end() && found->is_null();
}

void Settings::add(Error error) {
  if (!error_) error_ = std::move(error);
}

void Settings::refuse(std::string_view key, Code code, std::string_view why) {
  refused_.emplace_back(key);
  if (object_.is_object() && object_.contains(std::string(key))) note(code, key, why);
}

Result<void> Settings::finish() {
  if (object_.is_object()) {
    for (const auto& [key, value] : object_.items()) {
      if (std::find(known_.begin(), known_.end(), key) != known_.end()) continue;
      if (std::find(refused_.begin(), refused_.end(), key) != refused_.end()) continue;
      const auto meant = find_abbreviated(key, known_);
      note(Code::kInvalidArgument, key,
           "unknown" + (meant ? fmt::format(", did you mean '{}'?", *meant) : did_you_mean(key, known_)));
    }
  }
  if (error_) return fail(*error_);
  return {};
}

bool is_object(const nlohmann::ordered_json& json) { return json.is_object(); }

std::optional<double> number_of(const nlohmann::ordered_json& json, NumberRange range) {
  const double number = json.is_number() ? json.get<double>() : std::nan("");
  if (std::isfinite(number) && number >= range.least && number <= range.most) return number;
  return std::nullopt;
}

const nlohmann::ordered_json& only_value(const nlohmann::ordered_json& value) { return value.begin().value(); }

Result<std::string> only_key(const nlohmann::ordered_json& value, std::string_view example) {
  if (!value.is_object() || value.size() != 1)
    return fail(Code::kInvalidArgument, "must be an object with one key, such as {}", example);
  return value.begin().key();
}

}  // namespace tfd::variable
