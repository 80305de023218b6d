#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// What is wrong with a program, one error for each of its parts: each variable, dataset and function, the optimizer,
// each key of train.
// An error may be the consequence of one in another part that it names (a function of a variable that has an error):
// it isn't said then, for it may be gone with the other one. Thread rule: thread-compatible.
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "node.hpp"

namespace tfd::program {

/// What a broken part is called in others: `"w"`, or a key whose meaning depends on it.
using Mentions = std::vector<std::string>;
/// `"NAME"`, as the JSON text of another part has it.
std::string mention_of(std::string_view name);

class Problems {
 public:
  /// The value of a part; without one, its error is noted.
  template <class T>
  std::optional<T> keep(const Node& part, const Mentions& mentions, Result<T> result) {
    if (result) return std::move(*result);
    note(part, mentions, std::move(result).error());
    return std::nullopt;
  }
  bool check(const Node& part, const Mentions& mentions, Result<void> result) {
    if (!result) note(part, mentions, std::move(result).error());
    return result.has_value();
  }
  /// Of what doesn't depend on other parts, whatever it names: an unknown key.
  bool check_form(const Mentions& mentions, Result<void> result);
  bool empty() const { return errors_.empty(); }
  /// In the order in which they were found: the first is no consequence of another.
  const std::vector<Error>& errors() const { return errors_; }

 private:
  void note(const Node& part, const Mentions& mentions, Error error);

  std::vector<Error> errors_;
  std::set<std::string> broken_;
};

}  // namespace tfd::program
