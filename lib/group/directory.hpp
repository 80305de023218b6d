#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// The tasks that are, were or may be members of a group, and where each is reached. A group whose members come and go
// learns new ones, and new addresses of those that come again elsewhere. Private to the room. Thread rule: a plain
// value.
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace tfd::group {

class Directory {
 public:
  /// `tasks`: names and addresses, in the cluster's order; `own`: which of them this process is.
  Directory(const std::vector<std::pair<std::string, std::string>>& tasks, int own);

  /// All that are known, in the cluster's order: the chief, then workers by their indices.
  const std::vector<std::string>& names() const { return names_; }
  const std::string& first() const { return names_.front(); }
  const std::string& own() const { return own_; }
  bool knows(const std::string& name) const { return addresses_.contains(name); }
  /// The address of a task that is known.
  const std::string& address_of(const std::string& name) const { return addresses_.at(name); }
  /// True if this task stands before the own one, and so holds a first meeting rather than this process.
  bool comes_before_own(const std::string& name) const;
  /// Adds a task, or replaces its address. The own one's stays, and an empty address says nothing.
  void learn(const std::string& name, const std::string& address);

 private:
  std::vector<std::string> names_;
  std::map<std::string, std::string> addresses_;
  std::string own_;
};

}  // namespace tfd::group
