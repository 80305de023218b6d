#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// A launcher's part in a group of launchers, one per host: one of them holds the rendezvous, the others ask it; all do
// what its Agreement says. It starts no process itself. Thread rule: lives on the thread that turns its EventLoop;
// callbacks run there. Its endpoint has a thread of its own, so signals are blocked before.
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "tfd/cluster/address.hpp"
#include "tfd/launch/listen.hpp"
#include "tfd/process/event_loop.hpp"
#include "tfd/rendezvous/agreement.hpp"
#include "tfd/transport/endpoint.hpp"

namespace tfd::rendezvous {

struct RendezvousOptions {
  cluster::Address at;                            // where it is held
  std::optional<launch::Listener> listener = {};  // set: this launcher holds it, on that socket
  std::string own_address = {};                   // numeric, where `at` is of this host, but another process's
  std::function<Result<Joining>()> bring;         // once, when the rendezvous is reached
  AgreementOptions agreement = {};                // of the launcher that holds it; `join` and `report` of all
  Duration silence = std::chrono::seconds(10);    // a launcher that doesn't answer for so long is lost
  std::function<Result<std::unique_ptr<transport::Endpoint>>(transport::EndpointOptions)> make_endpoint =
      transport::make_zmq_endpoint;
  Log log = {};
  std::function<void(const Command&)> on_command = {};
  /// Once, instead of kEnd: kUnavailable where the launcher that holds the rendezvous is lost; kDeadlineExceeded where
  /// it wasn't there in time; what Agreement::join() refuses; kPermissionDenied, kProtocolMismatch; errors of `bring`.
  std::function<void(Error)> on_failure = {};
  std::function<void(const std::string& line)> say = {};  // lines about missing launchers
};

class Rendezvous {
 public:
  /// Errors of make_endpoint and, where it holds the rendezvous, of `bring`.
  static Result<std::unique_ptr<Rendezvous>> open(process::EventLoop& loop, RendezvousOptions options);
  virtual ~Rendezvous() = default;

  virtual void report(const Report& report) = 0;
  /// kEnd has come, and whoever is to know has heard of it. At most three seconds after kEnd.
  virtual bool is_done() const = 0;
  /// Tasks have been started, or are about to be.
  virtual bool has_joined() const = 0;
};

}  // namespace tfd::rendezvous
