#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// The links' calls back to their coordinator, of which they see nothing else. Not virtual: parameter servers that
// commit a closure lead to a dispatch(). Private to the room; defined in cluster_coordinator.cpp. Thread rule: on the
// endpoint's I/O thread, without the lock.
#include "tfd/base/error.hpp"

namespace tfd::coordinator {

class Coordinator;

class LinkCallbacks {
 public:
  explicit LinkCallbacks(Coordinator& coordinator) : coordinator_(coordinator) {}

  /// Sends queued closures to workers that have room.
  void dispatch() const;
  /// Sends the messages to tasks that ClosureTable::has_messages() tells of.
  void send_fences_and_drops() const;
  /// Ends all closures and evaluations with this error, and fails all later requests.
  void end_all(Error error) const;

 private:
  Coordinator& coordinator_;
};

}  // namespace tfd::coordinator
