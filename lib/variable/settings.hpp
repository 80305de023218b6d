#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Reads the keys of one JSON object that a person wrote ({"learning_rate": 0.01, …}): types, ranges, unknown keys. The
// first thing that is wrong is kept and comes back from finish(), so that a list of keys reads as a list. nlohmann/json
// itself stays in settings.cpp. Thread rule: thread-compatible; borrows the object.
//
//   Settings settings(body, "sgd");
//   const double rate = settings.number("learning_rate", 0.01, kNotNegative);
//   TFD_TRY(settings.finish());
#include <cstdint>
#include <limits>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tfd/base/error.hpp"

namespace tfd::variable {

/// The numbers that a setting may have, and how messages say it.
struct NumberRange {
  double least = std::numeric_limits<double>::lowest();
  double most = std::numeric_limits<double>::max();
  std::string_view meaning = "a finite number";  // "must be …"
};
inline constexpr NumberRange kAnyNumber{};
inline constexpr NumberRange kNotNegative{0, std::numeric_limits<double>::max(), "a finite number >= 0"};
inline constexpr NumberRange kNotPositive{std::numeric_limits<double>::lowest(), 0, "a finite number <= 0"};
inline constexpr NumberRange kPositive{std::numeric_limits<double>::denorm_min(), std::numeric_limits<double>::max(),
                                       "a finite number > 0"};
inline constexpr NumberRange kUnitInterval{0, 1, "within [0, 1]"};
inline constexpr NumberRange kBelowOne{0, 0x1.fffffffffffffp-1, "within [0, 1)"};

class Settings {
 public:
  /// `path` stands in front of every message.
  Settings(const nlohmann::ordered_json& object, std::string path);
  const std::string& path() const { return path_; }

  /// A number within `range`; the key must be there if there is no fallback.
  double number(std::string_view key, std::optional<double> fallback, NumberRange range);
  /// nullopt where it is absent or null.
  std::optional<double> optional_number(std::string_view key, NumberRange range);
  /// A whole number; nullopt where it is absent or null.
  std::optional<std::int64_t> optional_whole(std::string_view key, std::int64_t least);
  /// A whole number; without a fallback the key must be there.
  std::int64_t whole(std::string_view key, std::optional<std::int64_t> fallback, std::int64_t least);
  /// A list of numbers; the key must be there.
  std::vector<double> numbers(std::string_view key, NumberRange range);
  /// A list of strings; empty where it is absent.
  std::vector<std::string> texts(std::string_view key);
  /// A string; without a fallback the key must be there. With `choices` it is one of them.
  std::string text(std::string_view key, std::optional<std::string> fallback,
                   const std::vector<std::string>& choices = {});
  bool flag(std::string_view key, bool fallback);
  /// A whole number from 0 to 2^64 - 1.
  std::optional<std::uint64_t> seed(std::string_view key);
  /// Any value; null if it is absent, which is an error where it is `required`.
  const nlohmann::ordered_json* find(std::string_view key, bool required);
  /// The members of an object, in order; empty where it is absent.
  std::vector<std::pair<std::string, const nlohmann::ordered_json*>> members(std::string_view key);
  bool has(std::string_view key) const;
  bool is_null(std::string_view key) const;
  /// An error of a part that was read by somebody else; it says where itself.
  void add(Error error);
  /// A key that is understood, but not accepted here.
  void refuse(std::string_view key, Code code, std::string_view why);

  /// The first error; unknown keys with the nearest that was asked for.
  Result<void> finish();

 private:
  void note(Code code, std::string_view key, std::string_view what);

  const nlohmann::ordered_json& object_;
  std::string path_;
  std::vector<std::string> known_;
  std::vector<std::string> refused_;
  std::optional<Error> error_;
};

bool is_object(const nlohmann::ordered_json& json);
std::optional<double> number_of(const nlohmann::ordered_json& json, NumberRange range);
/// The written value, if it is short: for "…, not -1".
std::string shown(const nlohmann::ordered_json& value);
/// {"sgd": {…}}: its one key, or an error that says what is expected: "must be an object with one key, such as {…}".
Result<std::string> only_key(const nlohmann::ordered_json& value, std::string_view example);
/// The value of that one key.
const nlohmann::ordered_json& only_value(const nlohmann::ordered_json& value);

}  // namespace tfd::variable
