#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// In whose scope, and in which replica, a thread is. That is of the thread by its nature: code that several layers down
// reads a variable means the copy of the replica that runs it. Private to the room.
// Thread rule: each thread has its own.
#include <utility>

namespace tfd::strategy {

class ReplicaContext;
class Strategy;

struct Place {
  Strategy* strategy = nullptr;
  ReplicaContext* replica = nullptr;
};
Place& current_place();

/// This thread is there until it goes.
class Visit {
 public:
  explicit Visit(Place place) : before_(std::exchange(current_place(), place)) {}
  ~Visit() { current_place() = before_; }
  Visit(const Visit&) = delete;
  Visit& operator=(const Visit&) = delete;

 private:
  Place before_;
};

}  // namespace tfd::strategy
