#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// The strict reader of JSON that a person wrote. A JsonValue is a value with its path, so that every error says where;
// a JsonObject reads the keys of one object and keeps the first error, so that a list of keys reads as a list.
// nlohmann/json itself stays out of the header. Thread rule: thread-compatible; both borrow the document.
//
//   JsonObject settings(body, "sgd");
//   const double rate = settings.number("learning_rate", kNotNegative).value_or(0.01);
//   TFD_TRY(settings.finish());  // "sgd.learning_rat: unknown key, did you mean 'learning_rate'?"
#include <fmt/format.h>

#include <cstdint>
#include <limits>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tfd/base/error.hpp"

namespace tfd::tensor {

/// The numbers that a value may be, and the words for them in messages.
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

/// The value if it is a whole number that s64 holds; 1e3 is one, too.
std::optional<std::int64_t> integer_of(const nlohmann::ordered_json& value);

/// "optimizer.adam" and "beta_1" are "optimizer.adam.beta_1".
std::string child_path(const std::string& path, std::string_view key);

class JsonValue {
 public:
  JsonValue(const nlohmann::ordered_json& value, std::string path) : json_(&value), path_(std::move(path)) {}

  const nlohmann::ordered_json& json() const { return *json_; }
  const std::string& path() const { return path_; }
  std::string dump() const;

  bool is_object() const;
  bool is_list() const;
  bool is_text() const;
  bool is_number() const;
  bool is_bool() const;
  bool is_null() const;
  bool has(std::string_view key) const;

  /// kInvalidArgument with the path in front.
  template <class... Args>
  tl::unexpected<Error> fail(fmt::format_string<Args...> format, Args&&... args) const {
    return fail_text(Code::kInvalidArgument, fmt::format(format, std::forward<Args>(args)...));
  }
  tl::unexpected<Error> fail_text(Code code, std::string text) const;
  /// "must be WHAT, not a number".
  tl::unexpected<Error> fail_type(std::string_view what) const;
  /// "must be WHAT, not -1"; long values are shortened.
  tl::unexpected<Error> fail_value(std::string_view what) const;
  /// "unknown key" of the value that stands under `key`, with the known one that is nearest, or is abbreviated.
  tl::unexpected<Error> fail_unknown(std::string_view key, std::span<const std::string_view> known) const;

  std::optional<JsonValue> find(std::string_view key) const;
  /// Returns the member; without it the error is this value's: "PATH: needs 'KEY'".
  Result<JsonValue> member(std::string_view key) const;
  /// {"sgd": {…}}: its one member. Else: "must be an object with one key, such as EXAMPLE".
  Result<std::pair<std::string, JsonValue>> only_member(std::string_view example) const;
  /// The first member that isn't among the known ones.
  std::optional<std::pair<std::string, JsonValue>> find_unknown(std::span<const std::string_view> known) const;
  std::vector<std::pair<std::string, JsonValue>> members() const;  // of an object, in order
  std::vector<JsonValue> elements() const;                         // of a list

  Result<std::string> text() const;                        // not empty
  Result<std::string> any_text() const;                    // may be empty
  Result<std::int64_t> integer(std::int64_t least) const;  // 1e3 is one too
  Result<std::uint64_t> seed() const;                      // from 0 to 2^64 - 1
  Result<double> number() const;
  Result<double> number(NumberRange range) const;
  Result<bool> boolean() const;
  /// One of the texts: "must be "min" or "max", not "mean"".
  Result<std::string> choice(const std::vector<std::string>& choices) const;
  Result<std::vector<double>> numbers(NumberRange range) const;
  Result<std::vector<std::string>> texts() const;

 private:
  const nlohmann::ordered_json* json_;
  std::string path_;
};

/// Keys are known once they have been asked for. Calls return nullopt, or their fallback, where the key is absent or
/// its value is wrong; the required ones some value.
class JsonObject {
 public:
  /// `path` stands in front of every message.
  JsonObject(const nlohmann::ordered_json& object, std::string path) : JsonObject(JsonValue(object, std::move(path))) {}
  explicit JsonObject(JsonValue value);
  const std::string& path() const { return value_.path(); }

  std::optional<std::int64_t> integer(std::string_view key, std::int64_t least);
  std::optional<double> number(std::string_view key, NumberRange range);
  /// The same where null means absent, as None in Keras.
  std::optional<std::int64_t> nullable_integer(std::string_view key, std::int64_t least);
  std::optional<double> nullable_number(std::string_view key, NumberRange range);
  std::optional<std::uint64_t> seed(std::string_view key);
  std::optional<std::string> text(std::string_view key);  // may be empty
  std::string choice(std::string_view key, std::string_view fallback, const std::vector<std::string>& choices);
  bool flag(std::string_view key, bool fallback);
  std::vector<std::string> texts(std::string_view key);

  std::int64_t required_integer(std::string_view key, std::int64_t least);
  double required_number(std::string_view key, NumberRange range);
  std::vector<double> required_numbers(std::string_view key, NumberRange range);
  std::string required_text(std::string_view key);  // not empty

  /// Any value; null where it is absent, which is an error of required().
  const nlohmann::ordered_json* find(std::string_view key);
  const nlohmann::ordered_json* required(std::string_view key);
  /// The members of an object, in order.
  std::vector<std::pair<std::string, JsonValue>> members(std::string_view key);
  bool has(std::string_view key) const { return value_.has(key); }
  bool is_null(std::string_view key) const;

  /// Notes an error of a key's value.
  void note(std::string_view key, std::string_view what, Code code = Code::kInvalidArgument);
  /// Notes the error of a part that was read on its own; its message has the path.
  void note(Error error);
  /// Notes an error if the key exists: it is understood, but not accepted here, and no hint names it.
  void refuse(std::string_view key, Code code, std::string_view why);

  /// An unknown key, for a missing one is most often one that is misspelt; else the first error.
  Result<void> finish();

 private:
  template <class Read>
  auto read(std::string_view key, bool is_required, const Read& read);

  JsonValue value_;
  std::vector<std::string> known_;
  std::vector<std::string> refused_;
  std::optional<Error> error_;
};

}  // namespace tfd::tensor
