#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Reads the keys of one JSON object that a person wrote ({"learning_rate": 0.01, …}): types, ranges, unknown keys. The
// first thing that is wrong is kept and comes back from finish(), so that a list of keys reads as a list.
// Thread rule: thread-compatible; borrows the object.
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
#include <vector>

#include "tfd/base/error.hpp"

namespace tfd::variable {

struct NumberRange {
  double least = std::numeric_limits<double>::lowest();
  double most = std::numeric_limits<double>::max();
  std::string_view meaning = "a finite number";  // "must be …"
};
inline constexpr NumberRange kAnyNumber{};
inline constexpr NumberRange kNotNegative{0, std::numeric_limits<double>::max(), "a finite number >= 0"};
inline constexpr NumberRange kUnitInterval{0, 1, "within [0, 1]"};
inline constexpr NumberRange kBelowOne{0, 0x1.fffffffffffffp-1, "within [0, 1)"};

class Settings {
 public:
  /// `path` stands in front of every message.
  Settings(const nlohmann::ordered_json& object, std::string path);

  double number(std::string_view key, double fallback, NumberRange range);
  bool flag(std::string_view key, bool fallback);
  /// A whole number from 0 to 2^64 - 1.
  std::optional<std::uint64_t> seed(std::string_view key);
  /// Any value; null if it is absent, which is an error where it is `required`.
  const nlohmann::ordered_json* find(std::string_view key, bool required);
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

/// {"sgd": {…}}: its one key, or an error that says what is expected: "must be an object with one key, such as {…}".
Result<std::string> only_key(const nlohmann::ordered_json& value, std::string_view example);

}  // namespace tfd::variable
