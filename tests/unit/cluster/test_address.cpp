// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include "tfd/cluster/address.hpp"
#include "tfd/cluster/task_id.hpp"

using namespace tfd;
using namespace tfd::cluster;

namespace {
std::string why(std::string_view text) {
  const auto address = parse_address(text);
  REQUIRE_FALSE(address);
  CHECK(address.error().code == Code::kInvalidArgument);
  return address.error().message;
}
}  // namespace

TEST_CASE("address: reads names, IPv4 and bracketed IPv6 and prints them back") {
  for (const std::string text : {"h1:8888", "10.0.0.1:0", "[::1]:65535", "[fe80::1%eth0]:22", "a-b_c.example:1"}) {
    const auto address = parse_address(text);
    REQUIRE(address);
    CHECK(format_address(*address) == text);
  }
  CHECK(parse_address("[::1]:1")->host == "::1");
  CHECK(is_ipv6(*parse_address("[::1]:1")));
}

TEST_CASE("address: says what is wrong") {
  CHECK(why("h1:70000") == "port 70000 out of range");
  CHECK(why("h1:99999999999999999999") == "port 99999999999999999999 out of range");
  CHECK(why("h1") == "'h1' has no port (expected HOST:PORT)");
  CHECK(why("h1:") == "'h1:' has no port (expected HOST:PORT)");
  CHECK(why(":80") == "':80' has no host (expected HOST:PORT)");
  CHECK(why("") == "empty address (expected HOST:PORT)");
  CHECK(why("h1:-1") == "port '-1' is not a number");
  CHECK(why("h1:+1") == "port '+1' is not a number");
  CHECK(why("::1:80") == "'::1:80': an IPv6 address needs brackets ([IPV6]:PORT)");
  CHECK(why("[::1]80") == "'[::1]80' is not [IPV6]:PORT");
  CHECK(why("[::1") == "'[::1' is not [IPV6]:PORT");
  CHECK(why("[::1]") == "'[::1]' is not [IPV6]:PORT");
  CHECK(why("[g::1]:80") == "'g::1' is not an IPv6 address");
  CHECK(why("a b:80") == "'a b' is not a host name");
  CHECK(why("a\x1b[31m:80") == "'a?[31m' is not a host name");
  CHECK(why("grpc://h1") == "port '//h1' is not a number");
}

TEST_CASE("address: knows loopback") {
  CHECK(is_loopback({"127.9.9.9", 1}));
  CHECK(is_loopback({"localhost", 1}));
  CHECK(is_loopback({"0:0:0:0:0:0:0:1", 1}));
  CHECK(is_loopback({"::ffff:127.0.0.1", 1}));
  CHECK_FALSE(is_loopback({"128.0.0.1", 1}));
  CHECK_FALSE(is_loopback({"127.example.org", 1}));
}

TEST_CASE("address: a URL has the layer only where there is one") {
  CHECK(format_url("grpc", "h:1") == "grpc://h:1");
  CHECK(format_url("grpc", "") == "grpc://");
  CHECK(format_url("", "h:1") == "h:1");
}

TEST_CASE("task id: JOB:INDEX") {
  CHECK(*parse_task("worker:1") == TaskId{"worker", 1});
  CHECK(parse_task("a:b:3")->job == "a:b");
  CHECK(format_task({"ps", 0}) == "ps:0");
  for (const char* bad : {"", "worker", ":1", "worker:", "worker:-1", "worker:1.0", "worker:99999999999", "worker:x"}) {
    CAPTURE(bad);
    const auto task = parse_task(bad);
    REQUIRE_FALSE(task);
    CHECK(task.error().message.find("expected JOB:INDEX") != std::string::npos);
  }
}
