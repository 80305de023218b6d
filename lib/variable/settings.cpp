// SPDX-License-Identifier: Apache-2.0
#include "settings.hpp"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "tfd/base/text.hpp"

namespace tfd::variable {

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

double Settings::number(std::string_view key, double fallback, NumberRange range) {
  const auto* value = find(key, false);
  if (value == nullptr) return fallback;
  const double number = value->is_number() ? value->get<double>() : std::nan("");
  if (std::isfinite(number) && number >= range.least && number <= range.most) return number;
  note(Code::kInvalidArgument, key, fmt::format("must be {}", range.meaning));
  return fallback;
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

void Settings::refuse(std::string_view key, Code code, std::string_view why) {
  refused_.emplace_back(key);
  if (object_.is_object() && object_.contains(std::string(key))) note(code, key, why);
}

Result<void> Settings::finish() {
  if (object_.is_object()) {
    for (const auto& [key, value] : object_.items()) {
      if (std::find(known_.begin(), known_.end(), key) != known_.end()) continue;
      if (std::find(refused_.begin(), refused_.end(), key) != refused_.end()) continue;
      note(Code::kInvalidArgument, key, "unknown" + did_you_mean(key, known_));
    }
  }
  if (error_) return fail(*error_);
  return {};
}

Result<std::string> only_key(const nlohmann::ordered_json& value, std::string_view example) {
  if (!value.is_object() || value.size() != 1)
    return fail(Code::kInvalidArgument, "must be an object with one key, such as {}", example);
  return value.begin().key();
}

}  // namespace tfd::variable
