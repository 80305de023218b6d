// SPDX-License-Identifier: Apache-2.0
#include "servers/server_health.hpp"

#include <doctest/doctest.h>

namespace tfd::coordinator {
namespace {

using namespace std::chrono_literals;
using Fence = ServerHealth::Fence;

constexpr Clock::time_point kBefore{1h};

ServerHealth healthy(std::optional<TransientLimits> limits = {}) {
  ServerHealth health;
  health.begin(2, limits, 20);
  return health;
}

Result<void> failed(Code code, const std::string& task = {}) { return fail(Error{code, "it failed", task}); }

}  // namespace

TEST_CASE("server health: absence counts from its first sign, whatever follows, until the server is back") {
  ServerHealth health = healthy();
  CHECK(health.away(1, kBefore) == kBefore);
  CHECK(health.away(1, kBefore + 5s) == kBefore);  // it was silent, then its connection broke
  CHECK(health.is_away_since(1, kBefore));
  CHECK(health.away_since(1) == kBefore);
  CHECK_FALSE(health.is_away_since(0, kBefore));
  CHECK_FALSE(health.away_since(0));
  CHECK(health.back(1));
  CHECK_FALSE(health.back(1));
  CHECK_FALSE(health.back(0));
  CHECK_FALSE(health.is_away_since(1, kBefore));
  CHECK(health.away(1, kBefore + 9s) == kBefore + 9s);
  CHECK_FALSE(health.is_away_since(1, kBefore));  // a timer of its former absence says nothing
}

TEST_CASE(
    "server health: a fence is repeated where a server can't be reached, and else acknowledged, refused or lost") {
  ServerHealth health = healthy();
  CHECK(health.judge({}, "ps:0") == Fence::kAcknowledged);
  CHECK(health.judge(failed(Code::kPermissionDenied), "ps:0") == Fence::kRefused);
  for (int i = 0; i < 100; ++i) CHECK(health.judge(failed(Code::kUnavailable), "ps:0") == Fence::kRetry);
  CHECK(health.judge(failed(Code::kInternal), "ps:0") == Fence::kLost);
  CHECK_FALSE(health.pass({Code::kUnavailable, "it is gone", "ps:0"}));
}

TEST_CASE("server health: in TensorFlow's way the first failures of each server pass, those of fences included") {
  ServerHealth health = healthy(TransientLimits{.servers = 3});
  CHECK(health.pass({Code::kUnavailable, "it is gone", "ps:0"}));
  CHECK(health.judge(failed(Code::kUnavailable), "ps:0") == Fence::kRetry);
  CHECK(health.judge(failed(Code::kUnavailable), "ps:0") == Fence::kLost);
  CHECK(health.judge(failed(Code::kUnavailable, "ps:1"), "ps:1") == Fence::kRetry);
  CHECK(health.judge(failed(Code::kPermissionDenied), "ps:1") == Fence::kRefused);
}

TEST_CASE("server health: a tenth of the workers may report a timeout") {
  ServerHealth health = healthy(TransientLimits{});
  CHECK(health.pass({Code::kDeadlineExceeded, "it is slow", "ps:0"}));
  CHECK_FALSE(health.pass({Code::kDeadlineExceeded, "it is slow", "ps:1"}));
}

}  // namespace tfd::coordinator
