// SPDX-License-Identifier: Apache-2.0
//
// Health, recovery, and the devices of accelerator types; the API's faults by a real HTTP server.
#include <doctest/doctest.h>

#include <algorithm>

#include "../../../lib/resolve/google/text.hpp"
#include "../../../lib/resolve/google/tpu_node.hpp"
#include "google_world.hpp"
#include "http_server.hpp"
#include "tfd/resolve/tpu.hpp"

using namespace tfd;
using namespace tfd::resolve;
using namespace std::chrono_literals;

namespace {

constexpr const char* kHealthNode = "projects/p/locations/z/nodes/t";

std::unique_ptr<TpuResolver> make(GoogleWorld& world, TpuOptions options = {}) {
  if (!options.tpu) options.tpu = std::vector<std::string>{"t"};
  options.project = "p";
  options.zone = "z";
  auto tpu = make_tpu_resolver(options, world.environment, GoogleWorld::soon());
  REQUIRE(tpu);
  return *std::move(tpu);
}

std::string symptom(const std::string& type, const std::string& time) {
  return fmt::format(R"({{"state": "READY", "symptoms": [{{"createTime": "{}", "symptomType": "{}"}}]}})", time, type);
}

}  // namespace

TEST_CASE("tpu: waits until it is healthy, one question a round") {
  GoogleWorld world;
  world.put_node(kHealthNode, R"({"state": "CREATING"})");
  for (int attempt = 0; attempt < 5; ++attempt)
    world.put_error(std::string(GoogleWorld::kApi) + kHealthNode, Code::kUnavailable, "connection refused");
  world.put_node(kHealthNode, R"({"state": "READY", "health": "HEALTHY"})");
  CHECK(make(world)->wait_healthy(30s, Deadline::after(20min)));
  CHECK(std::count(world.pauses.begin(), world.pauses.end(), Duration(30s)) == 2);
  CHECK(world.requests.size() == 7);
}

TEST_CASE("tpu: gives up waiting as soon as the next question would be too late, and says what it saw") {
  GoogleWorld world;
  world.put_node(kHealthNode, R"({"state": "READY", "health": "TIMEOUT"})");
  const auto waited = make(world)->wait_healthy(10s, Deadline::after(25s));
  REQUIRE_FALSE(waited);
  CHECK(waited.error().code == Code::kDeadlineExceeded);
  CHECK(waited.error().message == "TPU 't' is not healthy yet: its state is READY, its health TIMEOUT");
  CHECK(world.pauses.size() == 2);
}

TEST_CASE("tpu: what is terminated won't become healthy, and an address has no health") {
  GoogleWorld world;
  world.put_node(kHealthNode, R"({"state": "PREEMPTED"})");
  CHECK(make(world)->wait_healthy(10s, Deadline::never()).error().code == Code::kFailedPrecondition);
  const auto by_address = make(world, {.tpu = {{"grpc://10.0.0.1"}}});
  CHECK(by_address->wait_healthy(10s, Deadline::never()).error().code == Code::kFailedPrecondition);
  CHECK(by_address->recoverable(GoogleWorld::soon()).error().code == Code::kFailedPrecondition);
  CHECK(world.pauses.empty());
}

TEST_CASE("tpu: recoverable is a matter of state and of memory, by the second") {
  struct Case {
    std::string node;
    bool expected;
  };
  // now is 2023-11-14T22:13:20Z
  const Case cases[] = {{R"({"state": "READY"})", true},
                        {R"({"state": "TERMINATED"})", false},
                        {R"({"state": "PREEMPTED"})", false},
                        {symptom("OUT_OF_MEMORY", "2023-11-14T22:11:50Z"), true},
                        {symptom("OUT_OF_MEMORY", "2023-11-14T22:11:50.001Z"), false},
                        {symptom("HBM_OUT_OF_MEMORY", "2023-11-14T23:13:00+01:00"), false},
                        {symptom("OUT_OF_MEMORY", "2024-11-14T22:13:00Z"), false},
                        {symptom("LOW_MEMORY", "2023-11-14T22:13:20Z"), true}};
  for (const Case& each : cases) {
    CAPTURE(each.node);
    GoogleWorld world;
    world.put_node(kHealthNode, each.node);
    CHECK(make(world)->recoverable(GoogleWorld::soon()).value() == each.expected);
    CHECK(world.requests.size() == 1);
  }
  for (const char* time : {"", "yesterday", "2023-11-14T22:11:50", "2023-11-14T22:11:50+1", "2023-11-14T22:11:50Zx"}) {
    GoogleWorld world;
    world.put_node(kHealthNode, symptom("OUT_OF_MEMORY", time));
    CHECK(make(world)->recoverable(GoogleWorld::soon()).error().code == Code::kInvalidArgument);
  }
}

TEST_CASE("tpu: accelerator types as the runtime's devices") {
  using google::count_tpu_devices;
  CHECK(count_tpu_devices("v2-8") == 8);
  CHECK(count_tpu_devices("v3-32") == 32);
  CHECK(count_tpu_devices("v4-16") == 8);  // the two cores of a chip are one device
  CHECK(count_tpu_devices("v5litepod-16") == 16);
  CHECK(count_tpu_devices("v5p-8") == 4);
  CHECK(count_tpu_devices("v6e-256") == 256);
  CHECK(count_tpu_devices("V4", "2x2x4") == 16);
  CHECK(count_tpu_devices("V5LITE_POD", "4x4") == 16);
  for (const char* odd : {"", "v4", "v4-", "v4-0", "v4-3", "v99-8", "v4-99999999999", "-8", "v4-8x"})
    CHECK_MESSAGE(count_tpu_devices(odd) == std::nullopt, odd);
  for (const char* odd : {"", "x", "2x", "2x0", "1000x1000x1000"})
    CHECK_MESSAGE(count_tpu_devices("V4", odd) == std::nullopt, odd);
}

TEST_CASE("tpu: cores that nothing tells, or that don't divide, are an error") {
  GoogleWorld world;
  const auto by_address = make(world, {.tpu = {{"grpc://10.0.0.1"}}});
  CHECK(by_address->num_accelerators(GoogleWorld::soon()).error().code == Code::kFailedPrecondition);
  world.put_node(kHealthNode, R"({"acceleratorType": "v2-8", "networkEndpoints": [
      {"ipAddress": "a"}, {"ipAddress": "b"}, {"ipAddress": "c"}]})");
  const auto count = make(world)->num_accelerators(GoogleWorld::soon());
  REQUIRE_FALSE(count);
  CHECK(count.error().message == "8 cores (v2-8) can't be the same number on each of 3 hosts");
}

TEST_CASE("tpu: names with numbers in order") {
  using google::comes_before;
  CHECK(comes_before("a-2", "a-10"));
  CHECK_FALSE(comes_before("a-10", "a-2"));
  CHECK(comes_before("a-2", "a-02"));
  CHECK(comes_before("a", "a-1"));
  CHECK(comes_before("a-9", "b-1"));
  CHECK_FALSE(comes_before("a-1", "a-1"));
  CHECK(comes_before("a1b", "a01c"));
}

TEST_CASE("tpu: the API's faults over a real connection") {
  struct Case {
    std::vector<kit::HttpReply> replies;
    std::optional<Code> code;  // nullopt: it works in the end
    std::size_t requests;
  };
  const kit::HttpReply good{.body = R"({"state": "READY", "networkEndpoints": [{"ipAddress": "10.0.0.1"}]})"};
  const Case cases[] = {{{{.status = 429, .headers = {{"Retry-After", "7"}}}, good}, std::nullopt, 2},
                        {{{.status = 500}, {.status = 503}, good}, std::nullopt, 3},
                        {{{.hang_up = true}, good}, std::nullopt, 2},
                        {{{.status = 401}, good}, std::nullopt, 2},
                        {{{.status = 401}, {.status = 401}}, Code::kPermissionDenied, 2},
                        {{{.status = 403}}, Code::kPermissionDenied, 1},
                        {{{.status = 404}}, Code::kNotFound, 1},
                        {{{.status = 503}}, Code::kUnavailable, 5},
                        {{{.body = good.body, .cut_after = 10}, good}, std::nullopt, 2},
                        {{{.silent = true}}, Code::kDeadlineExceeded, 1}};
  for (const Case& each : cases) {
    CAPTURE(&each - cases);
    std::size_t served = 0;
    kit::HttpServer server(
        [&](const kit::HttpRequest&) { return each.replies[std::min(served++, each.replies.size() - 1)]; });
    GoogleWorld world;
    world.environment.fetcher = make_curl_fetcher(world.environment.env);
    const auto tpu = make(world, {.api_url = server.url()});
    const bool silent = each.replies[0].silent;
    const auto config = tpu->resolve(silent ? Deadline::after(200ms) : GoogleWorld::soon());
    if (each.code) {
      REQUIRE_FALSE(config);
      CAPTURE(config.error().message);
      CHECK(config.error().code == *each.code);
      CHECK(config.error().message.find("tok-file") == std::string::npos);
    } else {
      CHECK_MESSAGE(config, (config ? "" : config.error().message));
    }
    CHECK(server.requests().size() == each.requests);
    CHECK(server.requests()[0].header("Authorization") == "Bearer tok-file");
    if (each.replies[0].status == 429) CHECK(world.pauses[0] >= 7s);
  }
}
