// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <chrono>
#include <csignal>

#include "tfd/rendezvous/agreement.hpp"

using namespace std::chrono_literals;
using namespace tfd;
using namespace tfd::rendezvous;

namespace {

const Clock::time_point kStart = Clock::time_point() + 1h;

Joining host(int number, int tasks = 1) {
  Joining out{.host = fmt::format("h{}", number), .addresses = {}, .same = {{"--nnodes", "2"}}};
  for (int i = 0; i < tasks; ++i) out.addresses.push_back(fmt::format("h{}:{}", number, 1000 + i));
  return out;
}

/// What was said since the last call: "0:start(g0 n0 of h0:1000|h1:1000) 1:…".
std::string said(Agreement& agreement) {
  std::string out;
  for (const auto& [id, command] : agreement.take()) {
    if (!out.empty()) out += "; ";
    switch (command.kind) {
      case Command::Kind::kSay:
        out += fmt::format("{} say {}", id, command.line);
        break;
      case Command::Kind::kStart: {
        out += fmt::format("{} start {} as {} of", id, command.plan.generation, command.plan.node);
        for (const auto& node : command.plan.nodes) out += fmt::format(" {}", fmt::join(node, ","));
        break;
      }
      case Command::Kind::kHalt:
        out += fmt::format("{} halt {}", id, command.line);
        break;
      case Command::Kind::kStop:
        out += fmt::format("{} stop {} ({}, {})", id, command.signal, command.count, command.line);
        break;
      case Command::Kind::kEnd:
        out += fmt::format("{} end {} by {}{}", id, command.code, command.signal,
                           command.line.empty() ? "" : ": " + command.line);
        break;
    }
  }
  return out;
}

Report failed(const std::string& task, int code, int generation = 0, int signal = 0) {
  return {.kind = Report::Kind::kFailed,
          .generation = generation,
          .task = task,
          .line = task + " failed",
          .code = code,
          .signal = signal};
}
Report idle(int generation = 0) { return {.kind = Report::Kind::kIdle, .generation = generation}; }
Report stop(int count) { return {.kind = Report::Kind::kStop, .signal = SIGTERM, .count = count}; }

/// Two hosts that have started.
Agreement two(AgreementOptions options = {.bounds = {.least = 2, .most = 2}}) {
  Agreement agreement(options, kStart);
  REQUIRE(agreement.join(0, host(0), kStart));
  REQUIRE(agreement.join(1, host(1), kStart));
  CHECK(said(agreement) == "0 start 0 as 0 of h0:1000 h1:1000; 1 start 0 as 1 of h0:1000 h1:1000");
  return agreement;
}

constexpr Bounds kElastic{.least = 1, .most = 2, .is_elastic = true};

}  // namespace

TEST_CASE("agreement: all start when the last has come, in the order in which they came") {
  Agreement agreement({.bounds = {.least = 3, .most = 3}}, kStart);
  REQUIRE(agreement.join(0, host(0, 2), kStart));
  REQUIRE(agreement.join(9, host(9), kStart + 1s));
  CHECK(said(agreement) == "");
  REQUIRE(agreement.join(5, host(5), kStart + 2s));
  const std::string all = "h0:1000,h0:1001 h9:1000 h5:1000";
  CHECK(said(agreement) == fmt::format("0 start 0 as 0 of {0}; 9 start 0 as 1 of {0}; 5 start 0 as 2 of {0}", all));
}

TEST_CASE("agreement: says every ten seconds who is missing, and gives up after --join") {
  Agreement agreement({.bounds = {.least = 3, .most = 3}, .join = 25s}, kStart);
  REQUIRE(agreement.join(0, host(0), kStart));
  CHECK(agreement.next() == kStart + 10s);
  agreement.tick(kStart + 10s);
  CHECK(said(agreement) == "0 say waiting for 2 more launchers; h0 is here (10s so far)");
  REQUIRE(agreement.join(1, host(1), kStart + 11s));
  agreement.tick(kStart + 20s);
  CHECK(said(agreement) ==
        "0 say waiting for 1 more launcher; h0 and h1 are here (20s so far); 1 say waiting for 1 more "
        "launcher; h0 and h1 are here (20s so far)");
  CHECK(agreement.next() == kStart + 25s);
  agreement.lose(1, "gone", kStart + 21s);
  agreement.tick(kStart + 25s);
  CHECK(said(agreement) == "0 end 75 by 0: gave up waiting for 2 more launchers; h0 is here (25s so far) (--join)");
  CHECK(agreement.is_over());
}

TEST_CASE("agreement: with MIN:MAX it starts when nobody else has come for the settling time, thrice that at most") {
  Agreement agreement({.bounds = {.least = 2, .most = 9, .is_elastic = true}}, kStart);
  REQUIRE(agreement.join(0, host(0), kStart));
  REQUIRE(agreement.join(1, host(1), kStart + 1s));
  CHECK(agreement.next() == kStart + 11s);
  Clock::time_point now = kStart + 1s;
  for (LauncherId id = 2; id < 5; ++id) REQUIRE(agreement.join(id, host(static_cast<int>(id)), now += 8s));
  CHECK(agreement.next() == kStart + 31s);  // not 35
  agreement.tick(kStart + 30s);
  CHECK(said(agreement) == "");
  agreement.tick(kStart + 31s);
  CHECK(said(agreement).starts_with("0 start 0 as 0 of"));
}

TEST_CASE("agreement: bounds may count tasks") {
  Agreement agreement({.bounds = {.least = 3, .most = 4, .counts_tasks = true}}, kStart);
  REQUIRE(agreement.join(0, host(0, 2), kStart));
  agreement.tick(kStart + 10s);
  CHECK(said(agreement) == "0 say waiting for launchers with 1 more task; h0 is here (10s so far)");
  const auto refused = agreement.join(1, host(1, 3), kStart + 11s);
  REQUIRE(!refused);
  CHECK(refused.error().message == "h1 is too many: the group has 2 of at most 4 tasks");
  REQUIRE(agreement.join(2, host(2, 2), kStart + 12s));
  CHECK(said(agreement).starts_with("0 start 0"));
}

TEST_CASE("agreement: who differs in what must be the same is refused, and so is who comes too late") {
  Agreement agreement({.bounds = {.least = 2, .most = 2}}, kStart);
  REQUIRE(agreement.join(0, host(0), kStart));
  Joining other = host(1);
  other.same = {{"--nnodes", "3"}};
  const auto refused = agreement.join(1, other, kStart);
  REQUIRE(!refused);
  CHECK(refused.error().code == Code::kFailedPrecondition);
  CHECK(refused.error().message == "the launchers differ in --nnodes: h0 has 2, h1 has 3");
  REQUIRE(agreement.join(1, host(1), kStart));
  CHECK(agreement.join(1, host(1), kStart));  // asked twice
  const auto late = agreement.join(2, host(2), kStart);
  REQUIRE(!late);
  CHECK(late.error().message == "the group has started without h2, and takes nobody else without MIN:MAX");
}

TEST_CASE("agreement: it is done when all are, with 0") {
  Agreement agreement = two();
  agreement.report(0, idle(), kStart);
  CHECK(said(agreement) == "");
  agreement.report(1, idle(), kStart);
  CHECK(said(agreement) == "0 end 0 by 0; 1 end 0 by 0");
}

TEST_CASE("agreement: the first failure ends all, with its code on all hosts") {
  Agreement agreement = two();
  agreement.report(1, failed("worker:1", 7), kStart);
  CHECK(said(agreement) == "0 halt worker:1 failed; 1 halt worker:1 failed");
  agreement.report(0, failed("worker:0", 143, 0, SIGTERM), kStart);
  agreement.report(0, idle(), kStart);
  CHECK(said(agreement) == "");
  agreement.report(1, idle(), kStart);
  CHECK(said(agreement) == "0 end 7 by 0; 1 end 7 by 0");
}

TEST_CASE("agreement: 69 is another's loss, and waits a second for the cause") {
  Agreement agreement = two();
  agreement.report(0, failed("worker:0", 69), kStart);
  CHECK(said(agreement) == "");
  CHECK(agreement.next() == kStart + 1s);
  SUBCASE("which comes") {
    agreement.report(1, failed("worker:1", 137, 0, SIGKILL), kStart + 500ms);
    CHECK(said(agreement) == "0 halt worker:1 failed; 1 halt worker:1 failed");
  }
  SUBCASE("which is a lost launcher") {
    agreement.lose(1, "gone", kStart + 500ms);
    CHECK(said(agreement) == "0 halt the launcher of h1 is lost (gone), and worker:1 with it");
    agreement.report(0, idle(), kStart + 600ms);
    CHECK(said(agreement) == "0 end 69 by 0");
  }
  SUBCASE("or doesn't") {
    agreement.tick(kStart + 1s);
    CHECK(said(agreement) == "0 halt worker:0 failed; 1 halt worker:0 failed");
  }
  SUBCASE("unless nobody runs any more") {
    agreement.report(0, idle(), kStart);
    agreement.report(1, failed("worker:1", 69), kStart);
    agreement.report(1, idle(), kStart);
    CHECK(said(agreement) == "0 halt worker:0 failed; 1 halt worker:0 failed; 0 end 69 by 0; 1 end 69 by 0");
  }
}

TEST_CASE("agreement: a signal to one launcher is passed on to all, and counted once however many get it") {
  Agreement agreement = two();
  agreement.report(0, stop(1), kStart);
  CHECK(said(agreement) == "1 stop 15 (1, SIGTERM at h0)");
  agreement.report(1, stop(1), kStart);
  CHECK(said(agreement) == "");
  agreement.report(1, stop(2), kStart);
  CHECK(said(agreement) == "0 stop 15 (2, SIGTERM at h1)");
  SUBCASE("tasks that die of it say by which signal to end") {
    agreement.report(0, failed("worker:0", 143, 0, SIGTERM), kStart);
    agreement.report(0, idle(), kStart);
    agreement.report(1, idle(), kStart);
    CHECK(said(agreement) == "0 end 143 by 15; 1 end 143 by 15");
  }
  SUBCASE("a task's answer is the code") {
    agreement.report(0, failed("worker:0", 75), kStart);
    agreement.report(0, idle(), kStart);
    agreement.report(1, idle(), kStart);
    CHECK(said(agreement) == "0 say worker:0 failed; 1 say worker:0 failed; 0 end 75 by 0; 1 end 75 by 0");
  }
}

TEST_CASE("agreement: a signal before the start ends all") {
  Agreement agreement({.bounds = {.least = 3, .most = 3}}, kStart);
  REQUIRE(agreement.join(0, host(0), kStart));
  REQUIRE(agreement.join(1, host(1), kStart));
  agreement.report(0, stop(1), kStart);
  CHECK(said(agreement) == "1 stop 15 (1, SIGTERM at h0); 0 end 143 by 15; 1 end 143 by 15");
}

TEST_CASE("agreement: --timeout of one ends all with 75") {
  Agreement agreement = two();
  agreement.report(1, {.kind = Report::Kind::kExpired, .line = "worker:1 still runs"}, kStart);
  CHECK(said(agreement) == "0 halt worker:1 still runs; 1 halt worker:1 still runs");
  agreement.report(0, {.kind = Report::Kind::kExpired, .line = "worker:0 still runs"}, kStart);
  agreement.report(0, idle(), kStart);
  agreement.report(1, idle(), kStart);
  CHECK(said(agreement) == "0 end 75 by 0; 1 end 75 by 0");
}

TEST_CASE("agreement: with MIN:MAX a failure starts all again after the back-off, at once if nobody went") {
  Agreement agreement = two({.bounds = kElastic, .max_failures = 1});
  agreement.report(1, failed("worker:1", 7), kStart);
  const std::string line = "worker:1 failed; starting all again in 1s (failure 1, at most 1)";
  CHECK(said(agreement) == fmt::format("0 halt {0}; 1 halt {0}", line));
  agreement.report(0, idle(), kStart);
  agreement.report(1, idle(), kStart);
  CHECK(agreement.next() == kStart + 1s);
  agreement.tick(kStart + 1s);
  CHECK(said(agreement) == "0 start 1 as 0 of h0:1000 h1:1000; 1 start 1 as 1 of h0:1000 h1:1000");
  agreement.report(0, failed("worker:0", 9, 0), kStart + 2s);  // of the start before
  CHECK(said(agreement) == "");
  agreement.report(0, failed("worker:0", 9, 1), kStart + 2s);
  const std::string last = "worker:0 failed; 2 failures in 10m are too many (--max-failures 1)";
  CHECK(said(agreement) == fmt::format("0 halt {0}; 1 halt {0}", last));
  agreement.report(0, idle(1), kStart + 2s);
  agreement.report(1, idle(1), kStart + 2s);
  CHECK(said(agreement) == "0 end 9 by 0; 1 end 9 by 0");
}

TEST_CASE("agreement: with MIN:MAX a lost host's place is taken by a newcomer, or it goes on without after a while") {
  Agreement agreement = two({.bounds = kElastic, .max_failures = 3});
  agreement.lose(1, "gone", kStart + 1s);
  CHECK(said(agreement) ==
        "0 halt the launcher of h1 is lost (gone), and worker:1 with it; starting all again in 1s (failure 1, at most "
        "3)");
  agreement.report(0, idle(), kStart + 2s);
  CHECK(agreement.next() == kStart + 11s);  // the settling time after the loss
  SUBCASE("in time") {
    REQUIRE(agreement.join(7, host(7), kStart + 3s));
    CHECK(said(agreement) == "0 start 1 as 0 of h0:1000 h7:1000; 7 start 1 as 1 of h0:1000 h7:1000");
  }
  SUBCASE("later") {
    agreement.tick(kStart + 11s);
    CHECK(said(agreement) == "0 start 1 as 0 of h0:1000");
    REQUIRE(agreement.join(7, host(7), kStart + 20s));
    CHECK(said(agreement) == "0 halt h7 joins; starting all again; 7 halt h7 joins; starting all again");
    agreement.report(0, idle(1), kStart + 21s);
    CHECK(said(agreement) == "0 start 2 as 0 of h0:1000 h7:1000; 7 start 2 as 1 of h0:1000 h7:1000");
  }
}

TEST_CASE("agreement: a signal between a failure and the next start ends it") {
  Agreement agreement = two({.bounds = kElastic, .max_failures = 3});
  agreement.report(1, failed("worker:1", 7), kStart);
  agreement.report(0, idle(), kStart);
  agreement.report(1, idle(), kStart);
  said(agreement);
  agreement.report(1, stop(1), kStart);
  CHECK(said(agreement) == "0 stop 15 (1, SIGTERM at h1); 0 end 143 by 15; 1 end 143 by 15");
}

TEST_CASE("agreement: the task that failed before the cause is named if it is of the same host") {
  Agreement agreement = two();
  Report cause = failed("worker:1", 3), earlier = failed("worker:2", 4);
  cause.time = 20;
  earlier.time = 17;
  earlier.cause = "ValueError: bad";
  agreement.report(1, cause, kStart);
  said(agreement);
  agreement.report(1, earlier, kStart);
  agreement.report(0, idle(), kStart);
  agreement.report(1, idle(), kStart);
  CHECK(
      said(agreement) ==
      "0 say worker:2 failed before that: ValueError: bad; 1 say worker:2 failed before that: ValueError: bad; 0 end 3 "
      "by 0; 1 end 3 by 0");
}
