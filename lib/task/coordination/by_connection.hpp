#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// The entries of each connection, found by the connection alone: when thousands of them end at once, each costs as much
// as it had. Its owner adds an entry together with the named object and removes both together. Private to the room.
// Thread rule: thread-compatible.
#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <utility>

namespace tfd::task {

template <class What>
class ByConnection {
 public:
  using Connection = std::uint64_t;
  void add(Connection connection, What what) { all_[connection].insert(std::move(what)); }
  void remove(Connection connection, const What& what) {
    const auto found = all_.find(connection);
    if (found == all_.end()) return;
    found->second.erase(what);
    if (found->second.empty()) all_.erase(found);
  }
  std::set<What> of(Connection connection) const {
    const auto found = all_.find(connection);
    return found == all_.end() ? std::set<What>() : found->second;
  }
  std::size_t count(Connection connection) const {
    const auto found = all_.find(connection);
    return found == all_.end() ? 0 : found->second.size();
  }
  void clear() { all_.clear(); }

 private:
  std::map<Connection, std::set<What>> all_;  // none of them empty
};

}  // namespace tfd::task
