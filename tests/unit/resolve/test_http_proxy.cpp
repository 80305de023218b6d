// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <chrono>
#include <cstdlib>

#include "http_server.hpp"
#include "tfd/resolve/fetcher.hpp"
#include "url.hpp"

using namespace tfd;
using namespace tfd::kit;
using namespace tfd::resolve;
using namespace tfd::resolve::http;
using namespace std::chrono_literals;

namespace {
Environment env_of(std::map<std::string, std::string, std::less<>> values) { return Environment(std::move(values)); }
}  // namespace

TEST_CASE("proxy: the environment names one, in lower case first, HTTP_PROXY in capitals not") {
  const Environment env = env_of({{"http_proxy", "a:1"}, {"HTTPS_PROXY", "b:2"}, {"ALL_PROXY", "c:3"}});
  CHECK(find_proxy(env, "http", "h", 80) == "a:1");
  CHECK(find_proxy(env, "https", "h", 443) == "b:2");
  CHECK(find_proxy(env_of({{"HTTP_PROXY", "a:1"}}), "http", "h", 80).empty());
  CHECK(find_proxy(env_of({{"https_proxy", "x"}, {"HTTPS_PROXY", "y"}}), "https", "h", 443) == "x");
  CHECK(find_proxy(env_of({{"https_proxy", ""}, {"all_proxy", "z"}}), "https", "h", 443) == "z");
}

TEST_CASE("proxy: metadata servers and this host are asked without one") {
  const Environment env = env_of({{"http_proxy", "a:1"}});
  for (const char* host : {"169.254.169.254", "metadata.google.internal", "Metadata.Google.Internal.", "fd20:ce::254",
                           "localhost", "127.0.0.1", "127.9.9.9", "::1"})
    CHECK_MESSAGE(find_proxy(env, "http", host, 80).empty(), host);
  CHECK(find_proxy(env, "http", "metadata.google.internal.evil.example", 80) == "a:1");
  CHECK(find_proxy(env, "http", "169.254.169.253", 80) == "a:1");
}

TEST_CASE("proxy: NO_PROXY by host, suffix, address, network and port") {
  const auto matches = [](const char* list, const char* host, int port = 443) {
    return matches_no_proxy(list, host, port);
  };
  CHECK(matches("*", "any"));
  CHECK(matches("a, example.com", "example.com"));
  CHECK(matches("example.com", "x.EXAMPLE.com"));
  CHECK(matches(".example.com", "x.example.com"));
  CHECK(matches("*.example.com", "x.example.com."));
  CHECK_FALSE(matches("example.com", "badexample.com"));
  CHECK_FALSE(matches("x.example.com", "example.com"));
  CHECK(matches("example.com:443", "example.com"));
  CHECK_FALSE(matches("example.com:80", "example.com"));
  CHECK(matches("10.0.0.1", "10.0.0.1"));
  CHECK_FALSE(matches("10.0.0.1", "10.0.0.11"));
  CHECK_FALSE(matches("0.0.1", "10.0.0.1"));
  CHECK(matches("10.0.0.0/8", "10.200.3.4"));
  CHECK(matches("172.16.0.0/12", "172.31.255.255"));
  CHECK_FALSE(matches("172.16.0.0/12", "172.32.0.0"));
  CHECK_FALSE(matches("10.0.0.0/8", "ten.example"));
  CHECK_FALSE(matches("10.0.0.0/33", "10.0.0.0"));
  CHECK(matches("fd00::/8", "fd12::1"));
  CHECK(matches("[fd12::1]:443", "fd12::1"));
  CHECK(matches("fd12:0::1", "fd12::1"));
  CHECK_FALSE(matches("[fd12::1]:80", "fd12::1"));
  CHECK_FALSE(matches("", "h"));
  CHECK_FALSE(matches(" ,, ", "h"));
}

TEST_CASE("url: messages hold neither user nor query") {
  CHECK(url_for_messages("https://u:p@h:1/x?q=s#f") == "https://h:1/x");
  CHECK(url_for_messages("https://u:p/w@h/x") == "https://h/x");
  CHECK(url_for_messages("u:p@proxy:3128") == "proxy:3128");
  CHECK(url_for_messages("http://h/\x1b[1m") == "http://h/?[1m");
  CHECK(url_for_messages("http://" + std::string(1000, 'x')).size() < 320);
}

TEST_CASE("http: requests go through the proxy that the given environment names, not the process's") {
  HttpServer proxy([](const HttpRequest&) -> HttpReply { return {.body = "by proxy"}; });
  HttpServer server([](const HttpRequest&) -> HttpReply { return {.body = "direct"}; });
  const Environment env(
      {{"http_proxy", "http://user:pw@127.0.0.1:" + std::to_string(proxy.port())}, {"NO_PROXY", "direct.example"}});
  const auto fetcher = make_curl_fetcher(env);
  const auto far = fetcher->fetch({.url = "http://far.example/x?y=1", .bearer = Secret("t")}, soon());
  REQUIRE_MESSAGE(far, far.error().message);
  CHECK(far->body == "by proxy");
  const HttpRequest seen = proxy.requests().at(0);
  CHECK(seen.target == "http://far.example/x?y=1");
  CHECK(seen.header("Host") == "far.example");
  CHECK(seen.header("Proxy-Authorization") == "Basic dXNlcjpwdw==");
  CHECK(seen.header("Authorization") == "Bearer t");
  CHECK(fetcher->fetch({.url = server.url()}, soon())->body == "direct");  // loopback

  ::setenv("http_proxy", proxy.url().c_str(), 1);
  const auto unasked = make_curl_fetcher({})->fetch({.url = "http://no-such-host.invalid"}, soon());
  ::unsetenv("http_proxy");
  REQUIRE_FALSE(unasked);
  CHECK(unasked.error().code == Code::kNotFound);
  CHECK(proxy.requests().size() == 1);
  CHECK(make_curl_fetcher({})->fetch({.url = "http://x.example", .proxy = proxy.url()}, soon())->body == "by proxy");
}

TEST_CASE("http: https goes through a proxy as a tunnel, and says why there is none") {
  HttpServer proxy([](const HttpRequest&) -> HttpReply { return {.status = 403}; });
  const Environment env = env_of({{"https_proxy", "http://u:hunter2@127.0.0.1:" + std::to_string(proxy.port())}});
  const auto refused = make_curl_fetcher(env)->fetch({.url = "https://far.example/x", .bearer = Secret("t")}, soon());
  REQUIRE_FALSE(refused);
  CHECK(refused.error().code == Code::kUnavailable);
  CHECK(refused.error().message.find("403") != std::string::npos);
  CHECK(refused.error().message.find("hunter2") == std::string::npos);
  CHECK(proxy.requests().at(0).method == "CONNECT");
  CHECK(proxy.requests().at(0).target == "far.example:443");
  CHECK_FALSE(proxy.requests().at(0).has_header("Authorization"));

  const auto message = [](const std::string& given) {
    const auto response = make_curl_fetcher(env_of({{"https_proxy", given}}))->fetch({.url = "https://h/"}, soon());
    REQUIRE_FALSE(response);
    return response.error().message;
  };
  CHECK(message("quic://u:hunter2@p:1") == "GET https://h/: the proxy 'quic://p:1' is neither http, https nor socks");
  CHECK(message("http://u:hunter2@[bad") == "GET https://h/: the proxy 'http://[bad' is not a URL");
  CHECK(message("u:hunter2@no-such-proxy.invalid:1") ==
        "GET https://h/: cannot resolve the proxy no-such-proxy.invalid:1");
}
