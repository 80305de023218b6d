#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Collects a program's errors, one for each part: each variable, dataset and function, the optimizer, each key of
// train. An error that may be the consequence of one in another part that it names (a function using a broken variable)
// is left out, for fixing the other may fix it. Thread rule: thread-compatible.
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "node.hpp"

namespace tfd::program {

/// Texts by which other parts refer to a broken part: `"w"`, or a key whose meaning depends on it.
using Mentions = std::vector<std::string>;
/// The quoted name `"NAME"`, as it occurs in another part's JSON.
std::string mention_of(std::string_view name);

class Problems {
 public:
  /// Returns the value of a part, or records its error.
  template <class T>
  std::optional<T> keep(const Node& part, const Mentions& mentions, Result<T> result) {
    if (result) return std::move(*result);
    note(part, mentions, std::move(result).error());
    return std::nullopt;
  }
  bool check(const Node& part, const Mentions& mentions, Result<void> result) {
    if (result) return true;
    note(part, mentions, std::move(result).error());
    return false;
  }
  /// Records an error that is independent of other parts, whatever it names, such as an unknown key.
  bool check_form(const Mentions& mentions, Result<void> result);
  bool empty() const { return errors_.empty(); }
  /// Errors in the order in which they were found: the first is no consequence of another.
  const std::vector<Error>& errors() const { return errors_; }

 private:
  void note(const Node& part, const Mentions& mentions, Error error);

  std::vector<Error> errors_;
  std::set<std::string> broken_;
};

}  // namespace tfd::program
