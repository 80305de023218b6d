#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Leases numbers from 0 on to clients, such as step numbers: each to one of them, until it takes others or is gone.
// Then unused ones are returned. Private to the room. Thread rule: thread-compatible; a pure state machine.
#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "tfd/task/coordination.hpp"

namespace tfd::task {

inline constexpr std::int64_t kMostNumber = std::int64_t{1} << 62;
/// Numbers in one lease, at most.
inline constexpr std::uint32_t kMostNumbers = 4096;

/// True if this task has applied the update with this number.
using IsApplied = std::function<bool(std::int64_t number)>;

class StepLeases {
 public:
  using Connection = std::uint64_t;
  NumbersState take(Connection connection, const TakeNumbers& take, const IsApplied& is_applied);
  /// Returns the connection's leases; true if waiting clients have news.
  bool connection_gone(Connection connection, const IsApplied& is_applied);
  std::vector<std::string> holders() const;
  /// True if take() would return numbers, or that the queue is finished.
  bool has_news() const { return !returned_.empty() || held_.empty(); }

 private:
  struct Held {
    Connection connection = 0;
    std::string name = {};
    std::int64_t first = 0;
    std::uint32_t count = 0;
    bool has_all = false;  // this task gets every part of its updates
  };
  void give_back(const Held& held, const IsApplied& is_done);
  std::int64_t settled() const;

  std::int64_t next_ = 0;
  std::int64_t end_ = kMostNumber;
  std::set<std::int64_t> returned_;     // below next_ and end_
  std::map<std::uint64_t, Held> held_;  // by client
};

}  // namespace tfd::task
