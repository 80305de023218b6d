// SPDX-License-Identifier: Apache-2.0
//
// The kit's HTTP server, by bare sockets: what the tests of everything that speaks HTTP stand on.
#include <arpa/inet.h>
#include <doctest/doctest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <mutex>

#include "http_server.hpp"
#include "tfd/process/fd.hpp"

using namespace tfd;
using namespace tfd::kit;
using namespace std::chrono_literals;

namespace {

struct Client {
  explicit Client(const HttpServer& server) : fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    address.sin_port = htons(static_cast<std::uint16_t>(server.port()));
    REQUIRE(::connect(fd.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) == 0);
  }
  void say(std::string_view text) const {
    REQUIRE(::send(fd.get(), text.data(), text.size(), MSG_NOSIGNAL) == static_cast<ssize_t>(text.size()));
  }
  /// The bytes until `end` was among them, or the server closed.
  std::string hear(std::string_view end) const {
    std::string out;
    while (end.empty() || out.find(end) == std::string::npos) {
      pollfd one{fd.get(), POLLIN, 0};
      REQUIRE(::poll(&one, 1, soon().poll_ms()) == 1);
      std::array<char, 4096> buffer;
      const ssize_t got = ::recv(fd.get(), buffer.data(), buffer.size(), 0);
      if (got <= 0) break;
      out.append(buffer.data(), static_cast<std::size_t>(got));
    }
    return out;
  }
  std::string hear_all() const { return hear(""); }
  process::Fd fd;
};

const char* const kGet = "GET / HTTP/1.1\r\nHost: x\r\n\r\n";

}  // namespace

TEST_CASE("http server: a request is read whole, and the connection is kept") {
  HttpServer server([](const HttpRequest& request) -> HttpReply {
    return {.status = 201, .headers = {{"X-Seen", request.header("x-a")}}, .body = request.body + "!"};
  });
  Client client(server);
  client.say("POST /p%20q?a=1&b=%3D%41&c HTTP/1.1\r\nX-A:  v \r\nContent-Length: 5\r\n\r\nhe");
  client.say("llo");
  CHECK(client.hear("!") == "HTTP/1.1 201 Created\r\nX-Seen: v \r\nContent-Length: 6\r\n\r\nhello!");
  client.say(kGet);
  CHECK(client.hear("!").ends_with("\r\n\r\n!"));
  REQUIRE(server.requests().size() == 2);
  const HttpRequest first = server.requests()[0];
  CHECK(first.method == "POST");
  CHECK(first.path() == "/p%20q");
  CHECK(first.query("a") == "1");
  CHECK(first.query("b") == "=A");
  CHECK(first.query("c") == "");
  CHECK_FALSE(first.query("d").has_value());
  CHECK(server.requests()[1].connection == first.connection);
  CHECK(Client(server).fd);
}

TEST_CASE("http server: faults") {
  std::mutex mutex;  // the server answers on threads of its own
  HttpReply reply;
  HttpServer server([&](const HttpRequest&) {
    const std::scoped_lock lock(mutex);
    return reply;
  });
  const auto ask = [&](HttpReply given) {
    {
      const std::scoped_lock lock(mutex);
      reply = std::move(given);
    }
    Client client(server);
    client.say(kGet);
    return client.hear_all();
  };
  CHECK(ask({.body = "hello", .cut_after = 2}) == "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhe");
  CHECK(ask({.hang_up = true}).empty());
  CHECK(ask({.raw = "garbage"}) == "garbage");
  CHECK(ask({.headers = {{"Connection", "close"}}, .body = "ab", .trickle = 1ms}).ends_with("\r\n\r\nab"));
  CHECK(ask({.headers = {{"Connection", "close"}}, .body = "late", .delay = 1ms}).ends_with("late"));
}

TEST_CASE("http server: a stream is what the test writes") {
  auto stream = std::make_shared<HttpStream>();
  HttpServer server([&](const HttpRequest&) -> HttpReply { return {.stream = stream}; });
  stream->push("one");
  Client client(server);
  client.say(kGet);
  CHECK(client.hear("one\r\n").ends_with("Transfer-Encoding: chunked\r\n\r\n3\r\none\r\n"));
  CHECK(stream->wait_client(soon()));
  CHECK_FALSE(stream->wait_gone(Deadline::after(0s)));
  stream->push("second");
  CHECK(client.hear("second\r\n") == "6\r\nsecond\r\n");
  stream->close();
  CHECK(client.hear("0\r\n\r\n") == "0\r\n\r\n");
  CHECK(stream->wait_gone(soon()));

  stream = std::make_shared<HttpStream>();
  Client other(server);
  other.say(kGet);
  REQUIRE(stream->wait_client(soon()));
  stream->cut();
  CHECK(other.hear_all().ends_with("\r\n\r\n"));

  stream = std::make_shared<HttpStream>();
  {
    Client third(server);
    third.say(kGet);
    REQUIRE(stream->wait_client(soon()));
  }
  CHECK(stream->wait_gone(soon()));  // its client left
}

TEST_CASE("http server: stopping ends clients that wait for an answer") {
  for (const HttpReply& reply :
       {HttpReply{.delay = 1h}, HttpReply{.silent = true}, HttpReply{.stream = std::make_shared<HttpStream>()},
        HttpReply{.body = std::string(100, 'x'), .trickle = 1h}, HttpReply{.body = std::string(50 << 20, 'x')}}) {
    HttpServer server([&](const HttpRequest&) { return reply; });
    Client client(server);
    Client idle(server);
    client.say(kGet);
    REQUIRE(server.wait_requests(1, soon()));
    server.stop();
    CHECK(idle.hear_all().empty());
  }
}

TEST_CASE("http server: a tunnel to another port") {
  HttpServer far([](const HttpRequest&) -> HttpReply { return {.body = "from far"}; });
  HttpServer proxy([&](const HttpRequest& request) -> HttpReply {
    CHECK(request.method == "CONNECT");
    CHECK(request.target == "far:443");
    return {.tunnel_to = "127.0.0.1:" + std::to_string(far.port())};
  });
  Client client(proxy);
  client.say("CONNECT far:443 HTTP/1.1\r\n\r\n");
  CHECK(client.hear("\r\n\r\n") == "HTTP/1.1 200 OK\r\n\r\n");
  client.say(kGet);
  CHECK(client.hear("from far").ends_with("from far"));
}
