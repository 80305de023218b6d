// SPDX-License-Identifier: Apache-2.0
#include "options.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "tfd/base/text.hpp"

namespace tfd::data {

Options::Options(const nlohmann::ordered_json& object, std::string path) : object_(object), path_(std::move(path)) {
  if (!object_.is_object()) error_ = Error{Code::kInvalidArgument, path_ + ": must be an object", {}};
}

void Options::note(std::string_view key, std::string_view what) {
  if (!error_) error_ = Error{Code::kInvalidArgument, fmt::format("{}.{}: {}", path_, printable(key), what), {}};
}

const nlohmann::ordered_json* Options::find(std::string_view key) {
  known_.emplace_back(key);
  if (!object_.is_object()) return nullptr;
  const auto found = object_.find(std::string(key));
  return found == object_.end() ? nullptr : &*found;
}

const nlohmann::ordered_json* Options::required(std::string_view key) {
  const auto* value = find(key);
  if (value == nullptr) note(key, "is missing");
  return value;
}

std::optional<std::int64_t> Options::integer(std::string_view key, std::int64_t least) {
  const auto* value = find(key);
  if (value == nullptr) return std::nullopt;
  const auto number = integer_of(*value);
  if (!number)
    note(key, "must be a whole number");
  else if (*number < least)
    note(key, least == 1   ? "must be positive"
              : least == 0 ? "must not be negative"
                           : fmt::format("must be at least {}", least));
  return number;
}

std::int64_t Options::required_integer(std::string_view key, std::int64_t least) {
  const auto number = integer(key, least);
  if (!number) note(key, "is missing");
  return number.value_or(least);
}

std::optional<std::uint64_t> Options::seed(std::string_view key) {
  const auto* value = find(key);
  if (value == nullptr) return std::nullopt;
  if (value->is_number_unsigned()) return value->get<std::uint64_t>();
  const auto number = integer_of(*value);
  if (number && *number >= 0) return static_cast<std::uint64_t>(*number);
  note(key, "must be a whole number >= 0");
  return std::nullopt;
}

void Options::note(const Error& error) {
  if (!error_) error_ = error;
}

bool Options::flag(std::string_view key, bool fallback) {
  const auto* value = find(key);
  if (value == nullptr) return fallback;
  if (value->is_boolean()) return value->get<bool>();
  note(key, "must be true or false");
  return fallback;
}

std::optional<std::string> Options::text(std::string_view key) {
  const auto* value = find(key);
  if (value == nullptr) return std::nullopt;
  if (value->is_string()) return value->get<std::string>();
  note(key, "must be a string");
  return std::nullopt;
}

std::string Options::required_text(std::string_view key) {
  auto value = text(key);
  if (!value)
    note(key, "is missing");
  else if (value->empty())
    note(key, "is empty");
  return std::move(value).value_or("");
}

bool Options::skips_errors() {
  const std::string stated = text("on_error").value_or("fail");
  if (stated != "fail" && stated != "skip") note("on_error", "must be \"fail\" or \"skip\"");
  return stated == "skip";
}

Result<void> Options::finish() {
  if (object_.is_object()) {
    for (const auto& [key, value] : object_.items()) {
      if (std::find(known_.begin(), known_.end(), key) != known_.end()) continue;
      // An unknown key is reported before anything else that is wrong: a missing key is most often one that is
      // misspelt.
      error_ = Error{Code::kInvalidArgument,
                     fmt::format("{}.{}: unknown{}", path_, printable(key), did_you_mean(key, known_)),
                     {}};
      break;
    }
  }
  if (error_) return fail(*error_);
  return {};
}

nlohmann::ordered_json with_key(const nlohmann::ordered_json& value, const char* key) {
  return value.is_number() ? nlohmann::ordered_json{{key, value}} : value;
}

std::optional<std::int64_t> integer_of(const nlohmann::ordered_json& value) {
  if (value.is_number_unsigned()) {
    const auto number = value.get<std::uint64_t>();
    return std::in_range<std::int64_t>(number) ? std::optional<std::int64_t>(static_cast<std::int64_t>(number))
                                               : std::nullopt;
  }
  if (value.is_number_integer()) return value.get<std::int64_t>();
  return std::nullopt;
}

}  // namespace tfd::data
