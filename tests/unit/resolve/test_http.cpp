// SPDX-License-Identifier: Apache-2.0
//
// The fetcher by libcurl against a real server, without TLS.
#include <doctest/doctest.h>
#include <sys/prctl.h>

#include <chrono>
#include <type_traits>

#include "http_server.hpp"
#include "tfd/resolve/fetcher.hpp"
#include "tfd_version.hpp"

using namespace tfd;
using namespace tfd::kit;
using namespace tfd::resolve;
using namespace std::chrono_literals;

namespace {

Result<Response> get(const std::string& url, Deadline deadline = soon(), const Environment& env = {}) {
  return make_curl_fetcher(env)->fetch({.url = url}, deadline);
}

/// Answers everything with `reply`.
struct Always {
  explicit Always(HttpReply given) : reply(std::move(given)), server([this](const HttpRequest&) { return reply; }) {}
  HttpReply reply;
  HttpServer server;
};

}  // namespace

static_assert(!fmt::is_formattable<Secret>::value, "a secret can't be formatted");
static_assert(!std::is_convertible_v<Secret, std::string> && !std::is_convertible_v<Secret, std::string_view>);

TEST_CASE("secret: what is moved from and assigned over is empty") {
  Secret a("short");
  Secret b(std::move(a));
  CHECK(a.empty());  // NOLINT: that is what is tested
  CHECK(b.reveal() == "short");
  a = b;
  CHECK(a.reveal() == "short");
  b = std::move(a);
  CHECK(a.empty());  // NOLINT
  CHECK(b.reveal() == "short");
}

TEST_CASE("http: an answer has its status, headers in any case, and body") {
  Always twin({.status = 404, .headers = {{"X-One", " 1 "}, {"X-Empty", ""}}, .body = "no"});
  const auto response = get(twin.server.url() + "/a?b=c");
  REQUIRE(response);
  CHECK(response->status == 404);
  CHECK(*response->find_header("x-one") == "1");
  CHECK(response->find_header("X-Empty")->empty());
  CHECK(response->find_header("none") == nullptr);
  CHECK(response->body == "no");
  const HttpRequest seen = twin.server.requests().at(0);
  CHECK(seen.target == "/a?b=c");
  CHECK(seen.header("User-Agent") == "tfd/" TFD_VERSION);
  CHECK_FALSE(seen.has_header("Authorization"));
  CHECK_FALSE(seen.has_header("Cookie"));
}

TEST_CASE("http: methods, headers and bodies arrive as given") {
  Always twin({.body = "ok"});
  const auto fetcher = make_curl_fetcher({});
  const std::string url = twin.server.url();
  REQUIRE(fetcher->fetch({.method = "POST", .url = url, .headers = {{"X-A", "1"}, {"X-B", ""}}, .body = "b"}, soon()));
  REQUIRE(fetcher->fetch({.method = "POST", .url = url, .secret_body = Secret(std::string(2'000'000, 's'))}, soon()));
  REQUIRE(fetcher->fetch({.method = "PATCH", .url = url, .headers = {{"content-type", "a/b"}}, .body = "{}"}, soon()));
  REQUIRE(fetcher->fetch({.method = "DELETE", .url = url}, soon()));
  REQUIRE(fetcher->fetch({.method = "HEAD", .url = url}, soon()));
  REQUIRE(fetcher->fetch({.method = "POST", .url = url}, soon()));
  const auto seen = twin.server.requests();
  REQUIRE(seen.size() == 6);
  CHECK(seen[0].method == "POST");
  CHECK(seen[0].header("X-A") == "1");
  CHECK(seen[0].has_header("X-B"));
  CHECK(seen[0].body == "b");
  CHECK_FALSE(seen[0].has_header("Content-Type"));
  CHECK(seen[1].body == std::string(2'000'000, 's'));
  CHECK_FALSE(seen[1].has_header("Expect"));
  CHECK(seen[2].header("Content-Type") == "a/b");
  CHECK(seen[3].method == "DELETE");
  CHECK(seen[4].method == "HEAD");
  CHECK(seen[5].header("Content-Length") == "0");
  CHECK(seen[0].connection == seen[5].connection);  // one connection for all
}

TEST_CASE("http: a request with a secret forbids core dumps") {
  REQUIRE(::prctl(PR_SET_DUMPABLE, 1) == 0);
  Always twin({.body = "ok"});
  const auto fetcher = make_curl_fetcher({});
  REQUIRE(fetcher->fetch({.url = twin.server.url()}, soon()));
  CHECK(::prctl(PR_GET_DUMPABLE) == 1);
  REQUIRE(fetcher->fetch({.url = twin.server.url(), .bearer = Secret("t0ken")}, soon()));
  CHECK(::prctl(PR_GET_DUMPABLE) == 0);
  ::prctl(PR_SET_DUMPABLE, 1);
  CHECK(twin.server.requests()[1].header("Authorization") == "Bearer t0ken");
  REQUIRE(fetcher->fetch({.url = twin.server.url(), .basic = {{"user", Secret("pa:ss")}}}, soon()));
  CHECK(twin.server.requests()[2].header("Authorization") == "Basic dXNlcjpwYTpzcw==");
  const std::string with_user = "http://user:pa%3ass@127.0.0.1:" + std::to_string(twin.server.port());
  REQUIRE(fetcher->fetch({.url = with_user}, soon()));
  CHECK(twin.server.requests()[3].header("Authorization") == "Basic dXNlcjpwYTpzcw==");
  ::prctl(PR_SET_DUMPABLE, 1);
}

TEST_CASE("http: a refusal doesn't quote the credentials that it refuses") {
  HttpServer server([](const HttpRequest& request) -> HttpReply {
    return {.status = 401, .body = "no: " + request.header("Authorization").substr(7) + "; t0ken"};
  });
  const auto fetcher = make_curl_fetcher({});
  CHECK(fetcher->fetch({.url = server.url(), .bearer = Secret("t0ken")}, soon())->body == "no: ***; ***");
  CHECK(fetcher->fetch({.url = server.url(), .basic = {{"u", Secret("t0ken")}}}, soon())->body.ends_with("; ***"));
  ::prctl(PR_SET_DUMPABLE, 1);
}

TEST_CASE("http: what is no http URL, header, method or token is refused") {
  const auto code = [](const Request& request) { return make_curl_fetcher({})->fetch(request, soon()).error(); };
  CHECK(code({.url = "ftp://h/x"}).message == "GET: 'ftp://h/x' is not an http or https URL");
  CHECK(code({.url = "file:///etc/passwd"}).code == Code::kInvalidArgument);
  CHECK(code({.url = "h/x"}).message == "GET: 'h/x' is not a URL");
  CHECK(code({.url = ""}).code == Code::kInvalidArgument);
  CHECK(code({.url = "http://a b/"}).code == Code::kInvalidArgument);
  CHECK(code({.url = "http://h/\r\nX: y"}).code == Code::kInvalidArgument);
  CHECK(code({.url = "ftp://u:hunter2@h/x?key=hunter2"}).message.find("hunter2") == std::string::npos);
  CHECK(code({.url = "http://h", .headers = {{"A", "b\r\nC: d"}}}).code == Code::kInvalidArgument);
  CHECK(code({.url = "http://h", .headers = {{"A:b", "c"}}}).code == Code::kInvalidArgument);
  CHECK(code({.method = "GET /x", .url = "http://h"}).code == Code::kInvalidArgument);
  const Error token = code({.url = "http://h", .bearer = Secret("hunter2\n")});
  CHECK(token.message == "GET http://h/: the token is empty or holds a control character");
}

TEST_CASE("http: nobody there, and names that aren't known") {
  int port = 0;
  {
    const HttpServer gone([](const HttpRequest&) { return HttpReply{}; });
    port = gone.port();
  }
  const std::string place = "127.0.0.1:" + std::to_string(port);
  const auto refused = get("http://u:hunter2@" + place + "/p?token=hunter2");
  REQUIRE_FALSE(refused);
  CHECK(refused.error().code == Code::kUnavailable);
  CHECK(refused.error().message == "GET http://" + place + "/p: cannot connect to " + place + ": connection refused");
  const auto unknown = get("http://no-such-host.invalid/");
  REQUIRE_FALSE(unknown);
  CHECK(unknown.error().code == Code::kNotFound);
  CHECK(unknown.error().message == "GET http://no-such-host.invalid/: cannot resolve host 'no-such-host.invalid'");
}

TEST_CASE("http: cut off, closed, garbled and endless answers") {
  const auto error_of = [](HttpReply reply) {
    Always twin(std::move(reply));
    const auto fetcher = make_curl_fetcher({});
    const auto response = fetcher->fetch({.url = twin.server.url() + "/p", .most_bytes = 1000}, soon());
    REQUIRE_FALSE(response);
    const std::string start = "GET " + twin.server.url() + "/p: ";
    REQUIRE(response.error().message.starts_with(start));
    return std::pair(response.error().code, response.error().message.substr(start.size()));
  };
  using Is = std::pair<Code, std::string>;
  CHECK(error_of({.body = "hello", .cut_after = 2}) == Is(Code::kUnavailable, "the answer was cut off after 2 bytes"));
  CHECK(error_of({.hang_up = true}) == Is(Code::kUnavailable, "the connection was closed without an answer"));
  CHECK(error_of({.raw = "SSH-2.0-x\r\n"}) ==
        Is(Code::kUnavailable, "the answer isn't HTTP: received HTTP/0.9 when not allowed"));
  CHECK(error_of({.body = std::string(1001, 'x')}) == Is(Code::kResourceExhausted, "the answer is larger than 1000"));
  auto endless = std::make_shared<HttpStream>();
  endless->push(std::string(2000, 'x'));
  CHECK(error_of({.stream = endless}).first == Code::kResourceExhausted);
  auto half = std::make_shared<HttpStream>();
  half->push("abc");
  half->cut();
  CHECK(error_of({.stream = half}).first == Code::kUnavailable);
  HttpReply many;
  for (int i = 0; i < 300; ++i) many.headers.emplace_back("X", std::string(1000, 'y'));
  CHECK(error_of(many) == Is(Code::kResourceExhausted, "the answer's headers are too large"));
  Always exact({.body = std::string(1000, 'x')});
  CHECK(make_curl_fetcher({})->fetch({.url = exact.server.url(), .most_bytes = 1000}, soon()));
}

TEST_CASE("http: the deadline holds for every phase, and says how far it came") {
  const auto check = [](const HttpReply& reply, const std::string& expected) {
    std::string message;
    for (const Duration time : {50ms, 500ms, 5000ms}) {  // longer where a busy machine didn't even connect
      Always twin(reply);
      const auto response = get(twin.server.url(), Deadline::after(time));
      REQUIRE_FALSE(response);
      CHECK(response.error().code == Code::kDeadlineExceeded);
      message = response.error().message.substr(response.error().message.find("/: ") + 3);
      if (message == expected) break;
    }
    CHECK(message == expected);
  };
  check({.silent = true}, "no answer in time");
  check({.delay = 1h}, "no answer in time");
  check({.headers = {{"Content-Length", "5"}}, .body = "abc"}, "the answer didn't end in time, after 3 bytes");
  check({.body = "slow", .trickle = 1h}, "the answer didn't end in time, after 0 bytes");
}

TEST_CASE("http: redirects on the same server keep the token, at most so many") {
  HttpServer server([](const HttpRequest& request) -> HttpReply {
    if (request.path() == "/a") return {.status = 302, .headers = {{"Location", "b?x=1#f"}}};
    if (request.path() == "/b") return {.status = 307, .headers = {{"Location", "/c"}}};
    if (request.path() == "/loop") return {.status = 301, .headers = {{"Location", "/loop"}}};
    if (request.path() == "/ftp") return {.status = 301, .headers = {{"Location", "ftp://h/"}}};
    return {.body = "end"};
  });
  const auto fetcher = make_curl_fetcher({});
  const auto end = fetcher->fetch({.url = server.url() + "/a", .bearer = Secret("t")}, soon());
  REQUIRE(end);
  CHECK(end->body == "end");
  for (const HttpRequest& request : server.requests()) CHECK(request.header("Authorization") == "Bearer t");
  CHECK(server.requests().at(1).target == "/b?x=1");
  CHECK(fetcher->fetch({.url = server.url() + "/a", .most_redirects = 0}, soon())->status == 302);
  const auto loop = fetcher->fetch({.url = server.url() + "/loop", .most_redirects = 3}, soon());
  REQUIRE_FALSE(loop);
  CHECK(loop.error().message == "GET " + server.url() + "/loop: more than 3 redirects");
  CHECK_FALSE(fetcher->fetch({.url = server.url() + "/ftp"}, soon()));
}

TEST_CASE("http: a redirect to another server carries no credentials, and gets none back") {
  HttpServer* first = nullptr;
  HttpServer other([&](const HttpRequest& request) -> HttpReply {
    if (request.path() == "/back") return {.status = 302, .headers = {{"Location", first->url() + "/end"}}};
    return {.body = "other"};
  });
  HttpServer server([&](const HttpRequest& request) -> HttpReply {
    if (request.path() == "/end") return {.body = "end"};
    std::string to = other.url() + request.path();
    if (request.path() == "/user") to.insert(7, "eve:pw@");
    return {.status = 307, .headers = {{"Location", to}}};
  });
  first = &server;
  const auto fetcher = make_curl_fetcher({});
  const HttpHeaders headers{{"Cookie", "c=1"}, {"authorization", "Custom x"}, {"X-Kept", "1"}};
  REQUIRE(fetcher->fetch({.url = server.url() + "/x", .headers = headers}, soon()));
  REQUIRE(fetcher->fetch({.url = server.url() + "/x", .bearer = Secret("hunter2")}, soon()));
  REQUIRE(fetcher->fetch({.url = server.url() + "/x", .basic = {{"u", Secret("hunter2")}}}, soon()));
  REQUIRE(fetcher->fetch({.url = server.url() + "/user", .bearer = Secret("hunter2")}, soon()));
  REQUIRE(fetcher->fetch({.url = server.url() + "/back", .bearer = Secret("hunter2")}, soon()));
  const std::string with_user = "http://u:hunter2@127.0.0.1:" + std::to_string(server.port()) + "/back";
  REQUIRE(fetcher->fetch({.url = with_user}, soon()));
  REQUIRE(other.requests().size() == 6);
  for (const HttpRequest& request : other.requests()) {
    CHECK_FALSE(request.has_header("Authorization"));
    CHECK_FALSE(request.has_header("Cookie"));
  }
  CHECK(other.requests()[0].header("X-Kept") == "1");
  int ends = 0;
  for (const HttpRequest& request : server.requests()) {
    if (request.path() != "/end") {
      CHECK((request.has_header("Authorization") || request.has_header("authorization")));
      continue;
    }
    CHECK_FALSE(request.has_header("Authorization"));  // dropped for good
    ++ends;
  }
  CHECK(ends == 2);
  const auto refused = fetcher->fetch(
      {.method = "POST", .url = server.url() + "/x?k=hunter2", .secret_body = Secret("hunter2")}, soon());
  REQUIRE_FALSE(refused);
  CHECK(refused.error().code == Code::kPermissionDenied);
  CHECK(refused.error().message.find("hunter2") == std::string::npos);
  CHECK(other.requests().size() == 6);
}

TEST_CASE("http: POST becomes GET where the server says so") {
  int status = 0;
  HttpServer server([&](const HttpRequest& request) -> HttpReply {
    if (request.path() == "/end") return {.body = request.method + request.body};
    return {.status = status, .headers = {{"Location", "/end"}}};
  });
  const auto ended = [&](int given) {
    status = given;
    return make_curl_fetcher({})->fetch({.method = "POST", .url = server.url() + "/x", .body = "b"}, soon())->body;
  };
  CHECK(ended(301) == "GET");
  CHECK(ended(302) == "GET");
  CHECK(ended(303) == "GET");
  CHECK(ended(307) == "POSTb");
  CHECK(ended(308) == "POSTb");
}

TEST_CASE("http stream: chunks come as they are written, and the sink may end it or fetch") {
  auto stream = std::make_shared<HttpStream>();
  HttpServer server([&](const HttpRequest& request) -> HttpReply {
    if (request.path() == "/watch") return {.stream = stream};
    return {.body = "between"};
  });
  const auto fetcher = make_curl_fetcher({});
  std::string heard;
  stream->push("one");
  auto done = fetcher->stream(
      {.url = server.url() + "/watch", .most_bytes = 2}, 10s,
      [&](std::string_view bytes) {
        heard += bytes;
        heard += fetcher->fetch({.url = server.url() + "/x"}, soon())->body;
        if (heard.find("two") != std::string::npos) return false;
        stream->push("two");
        return true;
      },
      soon());
  REQUIRE(done);
  CHECK(done->status == 200);
  CHECK(done->body.empty());
  CHECK(heard == "onebetweentwobetween");
  CHECK(stream->wait_gone(soon()));

  stream = std::make_shared<HttpStream>();
  stream->push("all");
  stream->close();
  heard.clear();
  done = fetcher->stream(
      {.url = server.url() + "/watch"}, 10s, [&](std::string_view b) { return heard += b, true; }, soon());
  REQUIRE(done);
  CHECK(heard == "all");
}

TEST_CASE("http stream: idle, cut off, and not 2xx") {
  auto stream = std::make_shared<HttpStream>();
  HttpReply reply{.stream = stream};
  HttpServer server([&](const HttpRequest&) { return reply; });
  const auto fetcher = make_curl_fetcher({});
  const ChunkSink all = [](std::string_view) { return true; };
  stream->push("x");
  const auto idle = fetcher->stream({.url = server.url() + "/w"}, 50ms, all, soon());
  REQUIRE_FALSE(idle);
  CHECK(idle.error().code == Code::kUnavailable);
  CHECK(idle.error().message == "GET " + server.url() + "/w: no data for 50ms");
  reply.stream = std::make_shared<HttpStream>();
  reply.stream->push("x");
  reply.stream->cut();
  const auto cut = fetcher->stream({.url = server.url() + "/w"}, 10s, all, soon());
  REQUIRE_FALSE(cut);
  CHECK(cut.error().code == Code::kUnavailable);
  reply = {.status = 410, .body = "too old"};
  const auto gone = fetcher->stream({.url = server.url() + "/w"}, 10s, all, soon());
  REQUIRE(gone);
  CHECK(gone->status == 410);
  CHECK(gone->body == "too old");
  reply = {.silent = true};
  const auto late = fetcher->stream({.url = server.url() + "/w"}, 10s, all, Deadline::after(50ms));
  REQUIRE_FALSE(late);
  CHECK(late.error().code == Code::kDeadlineExceeded);
}
