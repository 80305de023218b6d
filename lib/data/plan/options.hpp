#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Reads the keys of one JSON object of a pipeline: types, bounds, unknown keys. The first thing that is wrong is kept
// and comes back from finish(), with its path in front: "[3].batch.size: must be positive". Thread rule:
// thread-compatible; borrows the object.
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tfd/base/error.hpp"

namespace tfd::data {

class Options {
 public:
  Options(const nlohmann::ordered_json& object, std::string path);

  /// A whole number of at least `least` (0 or 1 are said as "must not be negative", "must be positive").
  std::optional<std::int64_t> integer(std::string_view key, std::int64_t least);
  std::int64_t required_integer(std::string_view key, std::int64_t least);
  std::optional<std::uint64_t> seed(std::string_view key);
  bool flag(std::string_view key, bool fallback);
  std::optional<std::string> text(std::string_view key);
  std::string required_text(std::string_view key);
  /// "on_error": "fail", which is the default, or "skip": whether errors are passed over.
  bool skips_errors();
  /// Any value; null where it is absent.
  const nlohmann::ordered_json* find(std::string_view key);
  const nlohmann::ordered_json* required(std::string_view key);
  void note(std::string_view key, std::string_view what);
  /// Notes the error of a part that was read on its own; its message has the path.
  void note(const Error& error);

  Result<void> finish();
  const std::string& path() const { return path_; }

 private:
  const nlohmann::ordered_json& object_;
  std::string path_;
  std::vector<std::string> known_;
  std::optional<Error> error_;
};

/// A whole number of JSON that s64 holds.
std::optional<std::int64_t> integer_of(const nlohmann::ordered_json& value);

/// Expands a bare value to the object with the stage's most important key: {"batch": 64} means
/// {"batch": {"size": 64}}. Other values are themselves.
nlohmann::ordered_json with_key(const nlohmann::ordered_json& value, const char* key);

}  // namespace tfd::data
