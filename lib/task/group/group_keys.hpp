#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// The keys and values that the members of a group share, for the clients of their devices (function::HostExchange): the
// first member serves them by its coordination service, the others ask it. They exist from the group's first meeting
// until it is closed; PJRT clients ask whenever they like, from threads of their own. Private to the room. Thread rule:
// handle() and caller_gone() on the endpoint's I/O thread; the others are thread-safe.
#include <memory>
#include <optional>
#include <string>

#include "coordination/coordination_service.hpp"
#include "tfd/function/hosts.hpp"
#include "tfd/transport/endpoint.hpp"

namespace tfd::task {

class GroupKeys {
 public:
  /// `name`: this member's. The first one serves.
  GroupKeys(std::string name, bool is_first);
  ~GroupKeys() { close(); }
  GroupKeys(const GroupKeys&) = delete;
  GroupKeys& operator=(const GroupKeys&) = delete;

  /// Sets the endpoint, and for all but the first member the peer that serves.
  void begin(transport::Endpoint& endpoint, std::optional<transport::PeerId> first);
  /// Ends all waits, and those that would follow, with this error: a member is lost.
  void fail_all(const Error& error);
  /// The same with kUnavailable; the endpoint is no longer used.
  void close();

  void handle(const transport::Caller& caller, const transport::Message& request, transport::Responder responder);
  void caller_gone(const transport::Caller& caller);

  /// Outlives this object; asks after close() are kUnavailable.
  std::shared_ptr<function::HostExchange> exchange();

 private:
  struct Link;
  const std::string name_;
  std::shared_ptr<Link> link_;                    // shared with exchanges and requests in flight
  std::shared_ptr<CoordinationService> service_;  // the first member's, shared with its own requests; else null
};

}  // namespace tfd::task
