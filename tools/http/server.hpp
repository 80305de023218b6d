#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// A small HTTP/1.1 server for a page that is only read: GET and HEAD, no bodies, one request a connection. It has a
// thread of its own, which alone calls the handler. Clients are strangers: a request has a size that it can't exceed
// and seconds in which it must be over, and if too many are connected the oldest one is dropped, so that a silent
// client keeps no other out. Thread rule: thread-compatible; the handler runs on the server's thread.
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "tfd/base/error.hpp"
#include "tfd/cluster/address.hpp"

namespace tfd::http {

struct Answer {
  unsigned status = 200;
  std::string_view type = "text/plain; charset=utf-8";  // outlives the server
  std::string body = {};
};

struct ServerOptions {
  cluster::Address bind;                                // numeric host; port 0: any
  std::function<Answer(std::string_view path)> handle;  // a path without its query
  std::function<void()> on_second = {};                 // about once a second, on the same thread
  std::string_view content_security_policy = {};        // sent with every answer
};

class Server {
 public:
  /// Errors of launch::listen_on() and load_library().
  static Result<std::unique_ptr<Server>> start(ServerOptions options);
  /// Drops whoever is connected, and joins the thread.
  ~Server();
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  /// Where it listens, with the real port.
  const cluster::Address& address() const;

 private:
  class Thread;
  explicit Server(std::unique_ptr<Thread> thread);

  std::unique_ptr<Thread> thread_;
};

/// Whether a Host header is one that a client of a loopback address sends: "localhost:8080", "127.0.0.1", "[::1]:80".
/// Another one comes from a web site whose name was made to lead here (DNS rebinding).
bool is_loopback_host(std::string_view header);

}  // namespace tfd::http
