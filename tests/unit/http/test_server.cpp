// SPDX-License-Identifier: Apache-2.0
#include <arpa/inet.h>
#include <doctest/doctest.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <atomic>
#include <vector>

#include "http/server.hpp"
#include "tfd/process/fd.hpp"

using namespace tfd;
using namespace tfd::http;

namespace {

std::unique_ptr<Server> make_server(std::atomic<int>* seconds = nullptr) {
  auto server = Server::start({.bind = {"127.0.0.1", 0},
                               .handle = [](std::string_view path) -> Answer {
                                 if (path == "/fails") throw 3;
                                 return {path == "/here" ? 200u : 404u, {}, std::string(path) + "\n"};
                               },
                               .on_second =
                                   [seconds] {
                                     if (seconds != nullptr) ++*seconds;
                                   },
                               .content_security_policy = "default-src 'none'"});
  REQUIRE(server);
  return std::move(*server);
}

process::Fd connect_to(const Server& server) {
  process::Fd fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(server.address().port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  REQUIRE(::connect(fd.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) == 0);
  return fd;
}

void send_text(const process::Fd& fd, std::string_view text) {
  while (!text.empty()) {
    const ssize_t sent = ::send(fd.get(), text.data(), text.size(), MSG_NOSIGNAL);
    if (sent <= 0) return;  // it was dropped, which is what some of the tests want
    text.remove_prefix(static_cast<std::size_t>(sent));
  }
}

/// The bytes until the server closes the connection.
std::string rest_of(const process::Fd& fd) {
  std::string out;
  char buffer[4096];
  for (;;) {
    const ssize_t got = ::recv(fd.get(), buffer, sizeof buffer, 0);
    if (got <= 0) return out;
    out.append(buffer, static_cast<std::size_t>(got));
  }
}

std::string response_to(const Server& server, std::string_view request) {
  const process::Fd fd = connect_to(server);
  send_text(fd, request);
  return rest_of(fd);
}

}  // namespace

TEST_CASE("http: a server answers GET and HEAD, and each answer says what a browser may do") {
  const auto server = make_server();
  const std::string got = response_to(*server, "GET /here?x=1 HTTP/1.1\r\nHost: localhost\r\n\r\n");
  CHECK(got.starts_with("HTTP/1.1 200 OK\r\n"));
  CHECK(got.ends_with("\r\n\r\n/here\n"));
  for (const char* const header :
       {"Content-Security-Policy: default-src 'none'", "X-Content-Type-Options: nosniff", "Cache-Control: no-store",
        "Connection: close", "Content-Type: text/plain; charset=utf-8"})
    CHECK(got.find(std::string("\r\n") + header + "\r\n") != std::string::npos);
  const std::string head = response_to(*server, "HEAD /here HTTP/1.1\r\nHost: [::1]:80\r\n\r\n");
  CHECK(head.starts_with("HTTP/1.1 200 OK\r\n"));
  CHECK(head.ends_with("\r\n\r\n"));
  CHECK(response_to(*server, "GET /elsewhere HTTP/1.0\r\n\r\n").find(" 404 Not Found\r\n") == 8);
}

TEST_CASE("http: a server refuses other methods and foreign hosts, and outlives a handler that throws") {
  const auto server = make_server();
  for (const char* const method : {"POST", "PUT", "DELETE", "OPTIONS", "TRACE", "NONSENSE"}) {
    const std::string got = response_to(
        *server, std::string(method) + " /here HTTP/1.1\r\nHost: localhost\r\nContent-Length: 3\r\n\r\nabc");
    CHECK(got.starts_with("HTTP/1.1 405 "));
    CHECK(got.find("\r\nAllow: GET, HEAD\r\n") != std::string::npos);
  }
  CHECK(response_to(*server, "GET /here HTTP/1.1\r\nHost: evil.example\r\n\r\n").starts_with("HTTP/1.1 403 "));
  CHECK(response_to(*server, "GET /fails HTTP/1.1\r\nHost: localhost\r\n\r\n").empty());
  CHECK(response_to(*server, "GET /here HTTP/1.1\r\nHost: localhost\r\n\r\n").starts_with("HTTP/1.1 200 "));
}

TEST_CASE("http: clients that send nothing, half a request or a megabyte of header keep nobody out") {
  const auto server = make_server();
  std::vector<process::Fd> idle;
  for (int i = 0; i < 300; ++i) {
    idle.push_back(connect_to(*server));
    if (i % 2 == 0) send_text(idle.back(), "GET /here HTTP/1.1\r\nHost: local");
  }
  const std::string large = "GET /here HTTP/1.1\r\nHost: localhost\r\nX: " + std::string(1 << 20, 'x') + "\r\n\r\n";
  CHECK_FALSE(response_to(*server, large).starts_with("HTTP/1.1 200 "));
  CHECK(response_to(*server, "GET /here HTTP/1.1\r\nHost: localhost\r\n\r\n").starts_with("HTTP/1.1 200 "));
  CHECK(rest_of(idle.front()).empty());  // it was the oldest, and is closed
}

TEST_CASE("http: a server ends with clients connected, and its port is free again") {
  auto server = make_server();
  const process::Fd idle = connect_to(*server);
  const cluster::Address address = server->address();
  const auto taken = Server::start({.bind = address, .handle = [](std::string_view) { return Answer(); }});
  REQUIRE_FALSE(taken);
  CHECK(taken.error().message.find("address already in use") != std::string::npos);
  server.reset();
  CHECK(rest_of(idle).empty());
  CHECK(Server::start({.bind = address, .handle = [](std::string_view) { return Answer(); }}));
}

TEST_CASE("http: a second is told to who shows something") {
  std::atomic<int> seconds{0};
  const auto server = make_server(&seconds);
  const Deadline deadline = Deadline::after(std::chrono::seconds(30));
  while (seconds == 0 && !deadline.expired())
    CHECK(response_to(*server, "GET /here HTTP/1.1\r\nHost: localhost\r\n\r\n").starts_with("HTTP/1.1 200 "));
  CHECK(seconds > 0);
}

TEST_CASE("http: hosts of loopback") {
  for (const char* const host : {"localhost", "localhost:8080", "127.0.0.1", "127.1.2.3:1", "[::1]", "[::1]:80"})
    CHECK(is_loopback_host(host));
  for (const char* const host : {"", "evil.example", "evil.example:80", "127.0.0.1.evil.example",
                                 "localhost.evil.example:80", "10.0.0.1", "::1", "localhost@evil.example", "[::2]:80"})
    CHECK_FALSE(is_loopback_host(host));
}
