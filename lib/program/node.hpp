#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// A node of the program document: a JSON value with its path, so that every error says where. Only this and
// document.cpp use nlohmann/json, which keeps its header out of the other files. Thread rule: a plain view; the
// document outlives it.
#include <fmt/format.h>

#include <cstdint>
#include <initializer_list>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tfd/base/error.hpp"

namespace tfd::program {

class Node {
 public:
  Node(const nlohmann::ordered_json& json, std::string path) : json_(&json), path_(std::move(path)) {}

  const nlohmann::ordered_json& json() const { return *json_; }
  const std::string& path() const { return path_; }
  std::string dump() const;

  bool is_object() const;
  bool is_list() const;
  bool is_text() const;
  bool is_number() const;
  bool is_bool() const;
  bool has(std::string_view key) const;

  /// kInvalidArgument with the path in front.
  template <class... Args>
  tl::unexpected<Error> fail(fmt::format_string<Args...> format, Args&&... args) const {
    return fail_text(Code::kInvalidArgument, fmt::format(format, std::forward<Args>(args)...));
  }
  tl::unexpected<Error> fail_text(Code code, std::string text) const;

  /// Requires an object with only these keys; the error names the nearest known one.
  Result<void> expect_object(std::span<const std::string_view> known) const;
  Result<void> expect_object(std::initializer_list<std::string_view> known) const {
    return expect_object(std::span(known.begin(), known.size()));
  }
  /// "must be a WHAT, not a number".
  tl::unexpected<Error> fail_type(std::string_view what) const;

  std::optional<Node> find(std::string_view key) const;
  /// Returns the member; without it the error is this node's: "PATH: needs 'KEY'".
  Result<Node> member(std::string_view key) const;
  std::vector<std::pair<std::string, Node>> members() const;  // members of an object, in order
  std::vector<Node> elements() const;                         // of a list

  Result<std::string> text() const;                        // not empty
  Result<std::string> any_text() const;                    // may be empty
  Result<std::int64_t> integer(std::int64_t least) const;  // 1e3 is one too
  Result<double> number() const;
  Result<bool> boolean() const;

 private:
  Result<std::int64_t> at_least(std::int64_t value, std::int64_t least) const;

  const nlohmann::ordered_json* json_;
  std::string path_;
};

/// Puts `path` before an error of another room, whose message may go on with the path: "optimizer" and "adam.beta_3:
/// unknown"
/// -> "optimizer.adam.beta_3: unknown"; "[3].batch.size: …" -> "datasets.train[3].batch.size: …"; else "optimizer: …".
Error continue_path(const std::string& path, Error error);
/// The same for a part that another room reads.
template <class T>
Result<T> at_path(const std::string& path, Result<T> read) {
  if (read) return read;
  return fail(continue_path(path, std::move(read).error()));
}

/// Translates a word of another framework to a key, if that is among the known ones: "metric" for "monitor".
std::optional<std::string_view> find_synonym(std::string_view word, std::span<const std::string_view> known);

/// "dataset 'trian' is unknown, did you mean 'train'?", or, where nothing is near, "… is unknown (available: 'a' and
/// 'b')".
std::string unknown_text(std::string_view what, std::string_view name, std::span<const std::string> known);

}  // namespace tfd::program
