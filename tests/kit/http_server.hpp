#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// A real HTTP/1.1 server on 127.0.0.1, a port that was free, for tests of everything that speaks HTTP. It can also be a
// bad server: cut off, slow, silent, garbled. It speaks no TLS (tls_front.py does, in front of it). For bats there is
// the executable tfd-http-stand-in (http_stand_in.cpp).
// Thread rule: a thread per connection; the handler is called by one of them at a time and must not block. State
// shared with the test must be atomic, or be looked at after stop(). Stopping never hangs, whatever clients do.
//
//   HttpServer server([](const HttpRequest& request) -> HttpReply {
//     if (request.path() != "/api/v1/pods") return {.status = 404};
//     return {.headers = {{"Content-Type", "application/json"}}, .body = R"({"items": []})"};
//   });
//   … server.url() + "/api/v1/pods?limit=500" …
//   CHECK(server.requests().front().query("limit") == "500");
//
//   auto watch = std::make_shared<HttpStream>();          // an answer that the test writes as it goes
//   HttpServer server([&](const HttpRequest&) -> HttpReply { return {.stream = watch}; });
//   watch->push("{\"type\": \"ADDED\"}\n");
//   watch->close();                                       // the end of the answer; cut(): in the middle of it
#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tfd/base/deadline.hpp"

namespace tfd::kit {

/// Far enough away for what a test waits for.
inline Deadline soon() { return Deadline::after(std::chrono::seconds(30)); }

using HttpHeaders = std::vector<std::pair<std::string, std::string>>;

struct HttpRequest {
  std::string method;
  std::string target;  // as sent: "/path?a=b", "http://host/path" to a proxy, "host:443" of CONNECT
  HttpHeaders headers;
  std::string body;
  int connection = 0;  // counts from 1: tells whether requests shared one

  std::string path() const;                                       // without the query, as sent
  std::optional<std::string> query(std::string_view name) const;  // decoded; the first of that name
  /// "" where there is none; `name` in any case.
  std::string header(std::string_view name) const;
  bool has_header(std::string_view name) const;
};

/// The body of one answer, in the hands of the test. Made before or in the handler; thread-safe. Bytes pushed before
/// a client came is kept for it.
class HttpStream {
 public:
  HttpStream();
  ~HttpStream();
  void push(std::string_view bytes);
  void close();
  void cut();
  /// A client's request is being answered from this / its client has gone (or the end was sent). False at the deadline.
  bool wait_client(Deadline deadline) const;
  bool wait_gone(Deadline deadline) const;

 private:
  friend class HttpServer;
  struct State;
  std::unique_ptr<State> state_;
};

struct HttpReply {
  int status = 200;
  HttpHeaders headers = {};  // Content-Length is added unless it is here; with "Connection: close" it is the last
  std::string body = {};
  // Faults, and other ways to answer:
  std::optional<std::size_t> cut_after = {};  // bytes of the body, then the connection is closed
  Duration delay = {};                        // before the answer; not slept: it ends when client or server go
  bool hang_up = false;                       // closed without an answer
  bool silent = false;                        // no answer, and the connection stays open
  Duration trickle = {};                      // between single bytes of the body
  std::optional<std::string> raw = {};        // sent as it is instead of all that, then closed
  std::shared_ptr<HttpStream> stream = {};    // the body, chunked, instead of `body`
  std::string tunnel_to = {};                 // "127.0.0.1:PORT": after the answer to CONNECT, bytes go there and back
};

class HttpServer {
 public:
  using Handler = std::function<HttpReply(const HttpRequest&)>;
  /// Listens when it returns. Throws std::system_error where it can't.
  explicit HttpServer(Handler handler);
  ~HttpServer();
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

  std::string url() const;  // "http://127.0.0.1:PORT"
  int port() const;
  /// So far, in the order they were read.
  std::vector<HttpRequest> requests() const;
  /// False when fewer came before the deadline.
  bool wait_requests(std::size_t count, Deadline deadline) const;
  /// Closes every connection and the port; no handler runs after it. Harmless twice.
  void stop();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// "a%20b" as text; a plus sign stays one.
std::string percent_decoded(std::string_view text);

}  // namespace tfd::kit
