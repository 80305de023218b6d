#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Keys and values that several tasks share, for the clients of their devices (function::HostExchange): the first task
// serves them by its coordination service, the others ask it. They exist from begin() to close(); PJRT clients ask
// whenever they like, from threads of their own. Thread rule: handle() and caller_gone() on the endpoint's I/O thread;
// the others are thread-safe.
#include <memory>
#include <optional>
#include <string>

#include "tfd/base/error.hpp"
#include "tfd/function/hosts.hpp"
#include "tfd/transport/endpoint.hpp"

namespace tfd::task {

class CoordinationService;

class SharedKeys {
 public:
  /// `name`: this task's. The first one serves.
  SharedKeys(std::string name, bool is_first);
  ~SharedKeys() { close(); }
  SharedKeys(const SharedKeys&) = delete;
  SharedKeys& operator=(const SharedKeys&) = delete;

  /// Sets the endpoint, and for all but the first task the peer that serves.
  void begin(transport::Endpoint& endpoint, std::optional<transport::PeerId> first);
  /// Ends all waits, and those that would follow, with this error: a task is lost.
  void fail_all(const Error& error);
  /// The same with kUnavailable; the endpoint is no longer used.
  void close();

  static bool is_request(const transport::Message& message);
  void handle(const transport::Caller& caller, const transport::Message& request, transport::Responder responder);
  void caller_gone(const transport::Caller& caller);

  /// Outlives this object; asks after close() are kUnavailable.
  std::shared_ptr<function::HostExchange> exchange();

 private:
  struct Link;
  const std::string name_;
  std::shared_ptr<Link> link_;                    // shared with exchanges and requests in flight
  std::shared_ptr<CoordinationService> service_;  // the first task's, shared with its own requests; else null
};

}  // namespace tfd::task
