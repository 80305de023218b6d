// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <chrono>
#include <csignal>

#include "tfd/base/units.hpp"
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

/// The commands since the last call: "0:start(g0 n0 of h0:1000|h1:1000) 1:…".
std::string said(Agreement& agreement) {
  std::string out;
  for (const auto& [id, command] : agreement.take()) {
    if (!out.empty()) out += "; ";
    switch (command.kind) {
      case Command::Kind::kSay:
        out += fmt::format("{} say {}", id, command.line);
        break;
      case Command::Kind::kStart: {
        const Plan& plan = command.plan;
        out += fmt::format("{} {} {} as {}/{} of {}", id, plan.joins ? "join" : "start", plan.generation, plan.node,
                           fmt::join(plan.own, ","), fmt::join(plan.addresses, " "));
        break;
      }
      case Command::Kind::kReplace:
        out += fmt::format("{} replace {} of {} in {} ({})", id, fmt::join(command.plan.own, ","),
                           fmt::join(command.plan.addresses, " "), format_duration(command.wait), command.line);
        break;
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
Report refused(const std::string& task, int code, int generation = 0) {
  Report out = failed(task, code, generation);
  out.is_refused = out.is_final = true;
  return out;
}
Report idle(int generation = 0) { return {.kind = Report::Kind::kIdle, .generation = generation}; }
/// All of a launcher's tasks are members, of which one has perhaps ended.
Report members(int running, int generation = 0, int done = 0) {
  return {.kind = Report::Kind::kStanding,
          .generation = generation,
          .standings = {.running = running, .members = running, .done = done}};
}
Report leave() { return {.kind = Report::Kind::kLeave, .signal = SIGTERM, .count = 1}; }
Report stop(int count) { return {.kind = Report::Kind::kStop, .signal = SIGTERM, .count = count}; }

/// Two hosts that have started.
Agreement two(AgreementOptions options = {.bounds = {.least = 2, .most = 2}}) {
  Agreement agreement(options, kStart);
  REQUIRE(agreement.join(0, host(0), kStart));
  REQUIRE(agreement.join(1, host(1), kStart));
  CHECK(said(agreement) == "0 start 0 as 0/0 of h0:1000 h1:1000; 1 start 0 as 1/1 of h0:1000 h1:1000");
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
  const std::string all = "h0:1000 h0:1001 h9:1000 h5:1000";
  CHECK(said(agreement) ==
        fmt::format("0 start 0 as 0/0,1 of {0}; 9 start 0 as 1/2 of {0}; 5 start 0 as 2/3 of {0}", all));
}

TEST_CASE("agreement: names missing launchers after ten seconds and every thirty, and gives up after --join") {
  Agreement agreement({.bounds = {.least = 3, .most = 3}, .join = 45s}, kStart);
  REQUIRE(agreement.join(0, host(0), kStart));
  CHECK(agreement.next() == kStart + 10s);
  agreement.tick(kStart + 10s);
  CHECK(said(agreement) == "0 say waiting for 2 more launchers; h0 is here (10s so far)");
  REQUIRE(agreement.join(1, host(1), kStart + 11s));
  CHECK(said(agreement) == "0 say h1 has joined after 11s");
  agreement.tick(kStart + 40s);
  CHECK(said(agreement) ==
        "0 say waiting for 1 more launcher; h0 and h1 are here (40s so far); 1 say waiting for 1 more "
        "launcher; h0 and h1 are here (40s so far)");
  CHECK(agreement.next() == kStart + 45s);
  agreement.lose(1, "gone", kStart + 41s);
  agreement.turned_away();
  agreement.tick(kStart + 45s);
  CHECK(
      said(agreement) ==
      "0 end 75 by 0: gave up waiting for 2 more launchers; h0 is here, and a launcher with another key, or none, was "
      "rejected (45s so far) (--join)");
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
  CHECK(said(agreement).starts_with("0 start 0 as 0/0 of"));
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
  CHECK(said(agreement).starts_with("0 say h2 has joined after 12s; 0 start 0"));
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
  CHECK(said(agreement) == "0 start 1 as 0/0 of h0:1000 h1:1000; 1 start 1 as 1/1 of h0:1000 h1:1000");
  agreement.report(0, failed("worker:0", 9, 0), kStart + 2s);  // of the start before
  CHECK(said(agreement) == "");
  agreement.report(0, failed("worker:0", 9, 1), kStart + 2s);
  const std::string last = "worker:0 failed; 2 failures in 10m are too many (--max-failures 1)";
  CHECK(said(agreement) == fmt::format("0 halt {0}; 1 halt {0}", last));
  agreement.report(0, idle(1), kStart + 2s);
  agreement.report(1, idle(1), kStart + 2s);
  CHECK(said(agreement) == "0 end 9 by 0; 1 end 9 by 0");
}

TEST_CASE("agreement: the third failure in a row in one step ends all, whatever host its task is on") {
  Agreement agreement = two({.bounds = kElastic, .max_failures = 10});
  Clock::time_point now = kStart;
  for (int generation = 0; generation < 3; ++generation) {
    const auto at = static_cast<LauncherId>(generation % 2);
    Report died = failed(at == 0 ? "worker:0" : "worker:1", 7, generation);
    died.step = 412;
    said(agreement);
    agreement.report(at, died, now);
    if (generation == 2) break;
    for (const LauncherId launcher : {LauncherId{0}, LauncherId{1}}) agreement.report(launcher, idle(generation), now);
    agreement.tick(now += 5s);
  }
  const std::string last = "worker:0 failed; worker:0 and worker:1 died in step 412, three times in all";
  CHECK(said(agreement) == fmt::format("0 halt {0}; 1 halt {0}", last));
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
    CHECK(said(agreement) == "0 start 1 as 0/0 of h0:1000 h7:1000; 7 start 1 as 1/1 of h0:1000 h7:1000");
  }
  SUBCASE("later") {
    agreement.tick(kStart + 11s);
    CHECK(said(agreement) == "0 start 1 as 0/0 of h0:1000");
    REQUIRE(agreement.join(7, host(7), kStart + 20s));
    CHECK(said(agreement) == "0 halt h7 joins; starting all again; 7 halt h7 joins; starting all again");
    agreement.report(0, idle(1), kStart + 21s);
    CHECK(said(agreement) == "0 start 2 as 0/0 of h0:1000 h7:1000; 7 start 2 as 1/1 of h0:1000 h7:1000");
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

namespace {

/// The final line after a failure, `cause`, and one that came before it and is known later, of one host.
std::string said_after(Report cause, Report earlier) {
  Agreement agreement = two();
  cause.time = 20;
  earlier.time = 17;
  agreement.report(1, cause, kStart);
  said(agreement);
  agreement.report(1, earlier, kStart);
  agreement.report(0, idle(), kStart);
  agreement.report(1, idle(), kStart);
  return said(agreement);
}

}  // namespace

TEST_CASE("agreement: the task that failed before the cause is named if it is of the same host") {
  Report earlier = failed("worker:2", 4);
  earlier.cause = "ValueError: bad";
  CHECK(
      said_after(failed("worker:1", 3), earlier) ==
      "0 say worker:2 failed before that: ValueError: bad; 1 say worker:2 failed before that: ValueError: bad; 0 end 3 "
      "by 0; 1 end 3 by 0");
}

TEST_CASE("agreement: a task that failed before the cause, and states the same, isn't named") {
  Report cause = failed("worker:1", 65), earlier = failed("worker:2", 65);
  cause.cause = "no such shard";
  earlier.cause = "worker:1: no such shard";
  CHECK(said_after(cause, earlier) == "0 end 65 by 0; 1 end 65 by 0");
}

namespace {

/// Two hosts, with one and two tasks, that are one group.
Agreement three_members(AgreementOptions options) {
  Agreement agreement(options, kStart);
  REQUIRE(agreement.join(0, host(0), kStart));
  REQUIRE(agreement.join(1, host(1, 2), kStart));
  agreement.tick(kStart + 10s);
  CHECK(said(agreement).starts_with("0 start 0 as 0/0 of h0:1000 h1:1000 h1:1001"));
  agreement.report(0, members(1), kStart + 11s);
  agreement.report(1, members(2), kStart + 11s);
  CHECK(said(agreement) == "");
  return agreement;
}

const AgreementOptions kOfThree{.bounds = {.least = 1, .most = 3, .is_elastic = true}, .max_failures = 2};

}  // namespace

TEST_CASE("agreement: tasks learn how many there may be of a group whose members come and go") {
  Agreement agreement(kOfThree, kStart);
  REQUIRE(agreement.join(0, host(0), kStart));
  REQUIRE(agreement.join(1, host(1, 2), kStart));
  agreement.tick(kStart + 10s);
  const auto commands = agreement.take();
  REQUIRE(commands.size() == 2);
  CHECK(commands[1].second.plan.least == 1);
  CHECK(commands[1].second.plan.most == 6);
  Agreement of_two({.bounds = {.least = 2, .most = 2, .is_elastic = true}}, kStart);
  REQUIRE(of_two.join(0, host(0, 2), kStart));
  REQUIRE(of_two.join(1, host(1, 2), kStart));
  CHECK(of_two.take()[0].second.plan.least == 3);  // one of them may be lost, but no host
  Agreement of_tasks({.bounds = {.least = 2, .most = 3, .counts_tasks = true, .is_elastic = true}}, kStart);
  REQUIRE(of_tasks.join(0, host(0), kStart));
  REQUIRE(of_tasks.join(1, host(1, 2), kStart));
  const auto plan = of_tasks.take()[0].second.plan;
  CHECK(plan.least == 2);
  CHECK(plan.most == 3);
}

TEST_CASE("agreement: a launcher that is taken away leaves, while enough others go on, and may come again") {
  Agreement agreement = three_members(kOfThree);
  agreement.report(1, leave(), kStart + 12s);
  CHECK(said(agreement) ==
        "0 say SIGTERM at h1: it leaves, and the others go on; 1 say SIGTERM at h1: it leaves, and the others go on");
  agreement.report(1, members(1, 0, 1), kStart + 12s);  // one of its tasks has handed over, the other one died
  agreement.report(1, failed("worker:2", 143, 0, SIGTERM), kStart + 12s);
  agreement.report(1, stop(2), kStart + 13s);
  agreement.tick(kStart + 15s);
  CHECK(said(agreement) == "");
  agreement.report(1, idle(), kStart + 16s);
  CHECK(said(agreement) == "1 end 75 by 0");
  CHECK(!agreement.has(1));
  REQUIRE(agreement.join(1, host(1, 2), kStart + 20s));
  CHECK(said(agreement) == "0 say h1 joins with worker:1 and worker:2; 1 join 2 as 1/1,2 of h0:1000 h1:1000 h1:1001");
}

TEST_CASE("agreement: one that leaves and is lost meanwhile is no failure") {
  Agreement agreement = three_members(kOfThree);
  agreement.report(1, leave(), kStart + 12s);
  said(agreement);
  agreement.lose(1, "connection reset", kStart + 13s);
  CHECK(said(agreement) == "");
  CHECK(!agreement.is_over());
}

TEST_CASE("agreement: all end where too few would be left, or who is taken away holds the rendezvous") {
  SUBCASE("too few") {
    AgreementOptions both = kOfThree;
    both.bounds.least = 2;
    Agreement agreement = three_members(both);
    agreement.report(1, leave(), kStart + 12s);
    CHECK(said(agreement) == "0 stop 15 (1, SIGTERM at h1)");
  }
  SUBCASE("the holder") {
    Agreement agreement = three_members(kOfThree);
    agreement.report(0, leave(), kStart + 12s);
    CHECK(said(agreement) == "1 stop 15 (1, SIGTERM at h0)");
  }
  SUBCASE("without MIN:MAX") {
    Agreement agreement({.bounds = {.least = 2, .most = 2}}, kStart);
    REQUIRE(agreement.join(0, host(0), kStart));
    REQUIRE(agreement.join(1, host(1), kStart));
    said(agreement);
    agreement.report(1, leave(), kStart + 12s);
    CHECK(said(agreement) == "0 stop 15 (1, SIGTERM at h1)");
  }
}

TEST_CASE("agreement: after the last step of a group its members have the grace to end") {
  AgreementOptions options = kOfThree;
  options.grace = 7s;
  Agreement agreement = three_members(options);
  Report done = members(0, 0, 1);
  SUBCASE("and those that are frozen are ended") {
    done.standings.is_over = true;
    agreement.report(0, done, kStart + 20s);
    agreement.report(0, idle(), kStart + 20s);
    agreement.tick(kStart + 26s);
    CHECK(said(agreement) == "");
    CHECK(agreement.next() == kStart + 27s);
    agreement.tick(kStart + 27s);
    CHECK(said(agreement) ==
          "0 halt the training is done; ending those that haven't ended 7s after it; "
          "1 halt the training is done; ending those that haven't ended 7s after it");
    agreement.report(1, failed("worker:2", 137, 0, SIGKILL), kStart + 37s);
    agreement.report(1, idle(), kStart + 37s);
    CHECK(said(agreement) == "0 end 0 by 0; 1 end 0 by 0");
  }
  SUBCASE("but one that has handed over ends nothing") {
    agreement.report(0, done, kStart + 20s);
    CHECK(agreement.next() == Clock::time_point::max());
  }
}

TEST_CASE("agreement: where all others go on, only the tasks that failed are started again, by their launcher") {
  AgreementOptions options = kOfThree;
  options.max_failures = 3;
  Agreement agreement = three_members(options);
  agreement.report(1, members(1), kStart + 12s);
  agreement.report(1, failed("worker:2", 137, 0, SIGKILL), kStart + 12s);
  CHECK(said(agreement) == "");
  CHECK(agreement.next() == kStart + 13s);  // others may die of the same
  agreement.report(1, members(0), kStart + 12s);
  agreement.report(1, failed("worker:1", 9), kStart + 12s);
  agreement.report(1, idle(), kStart + 12s);
  agreement.tick(kStart + 13s);
  const std::string line = "worker:1 failed; starting worker:2 and worker:1 again in 1s (failures 1 to 2, at most 3)";
  CHECK(said(agreement) == fmt::format("0 say {0}; 1 replace 1,2 of h0:1000 h1:1000 h1:1001 in 1s ({0})", line));
  CHECK(agreement.next() == Clock::time_point::max());
  SUBCASE("in their places, and the group ends when all have") {
    agreement.report(1, idle(), kStart + 13s);  // said before it was told
    agreement.report(1, members(2, 1), kStart + 15s);
    agreement.report(0, members(0, 0, 1), kStart + 20s);
    agreement.report(0, idle(), kStart + 20s);
    CHECK(said(agreement) == "");
    agreement.report(1, members(0, 1, 2), kStart + 20s);
    agreement.report(1, idle(1), kStart + 20s);
    CHECK(said(agreement) == "0 end 0 by 0; 1 end 0 by 0");
  }
  SUBCASE("again and again, until it is too often") {
    agreement.report(1, {.kind = Report::Kind::kStanding, .generation = 1, .standings = {.running = 2}}, kStart + 14s);
    agreement.report(1, members(1, 1), kStart + 14s);
    agreement.report(1, failed("worker:1", 9, 1), kStart + 14s);
    agreement.tick(kStart + 15s);
    CHECK(said(agreement).ends_with("in 2s (worker:1 failed; starting worker:1 again in 2s (failure 3, at most 3))"));
    agreement.report(1, failed("worker:1", 9, 2), kStart + 18s);
    agreement.tick(kStart + 19s);
    CHECK(said(agreement).starts_with("0 halt worker:1 failed; 4 failures in 10m are too many (--max-failures 3)"));
  }
  SUBCASE("unless none is left: then all are") {
    agreement.report(0, members(0), kStart + 14s);
    agreement.report(0, failed("worker:0", 9), kStart + 14s);
    CHECK(said(agreement).starts_with("0 halt worker:0 failed; starting all again in 2s (failure 3, at most 3)"));
  }
}

TEST_CASE(
    "agreement: each task that dies of its own is a failure, but all that state one cause, and those lost with it") {
  Agreement agreement = three_members(kOfThree);
  agreement.report(0, members(0), kStart + 12s);
  Report one = failed("worker:0", 70), other = failed("worker:1", 70);
  one.cause = other.cause = "after step 412, worker:1 has another 'kernel' than the others";
  agreement.report(0, one, kStart + 12s);
  agreement.report(1, members(1), kStart + 12s);
  agreement.report(1, other, kStart + 12s);
  SUBCASE("of one cause, and another's loss") {
    agreement.report(1, members(0), kStart + 12s);
    agreement.report(1, failed("worker:2", 69), kStart + 12s);
    agreement.report(0, idle(), kStart + 12s);
    agreement.report(1, idle(), kStart + 12s);
    CHECK(said(agreement).starts_with("0 halt worker:1 failed; starting all again in 1s (failure 1, at most 2)"));
  }
  SUBCASE("where the others go on") {
    agreement.tick(kStart + 13s);
    CHECK(said(agreement).find("starting worker:0 and worker:1 again in 1s (failure 1, at most 2)") !=
          std::string::npos);
  }
}

TEST_CASE("agreement: what ends the same way at each start isn't started again, a member's wrong input neither") {
  Agreement agreement = three_members(kOfThree);
  agreement.report(1, members(1), kStart + 12s);
  Report wrong = failed("worker:2", 65);
  wrong.is_final = true;
  agreement.report(1, wrong, kStart + 12s);
  CHECK(said(agreement) == "0 halt worker:2 failed; 1 halt worker:2 failed");
}

TEST_CASE("agreement: one task that doesn't go on without others starts all again") {
  Agreement agreement = three_members(kOfThree);
  agreement.report(0, {.kind = Report::Kind::kStanding, .standings = {.running = 1, .alone = 1}}, kStart + 11s);
  agreement.report(1, members(1), kStart + 12s);
  agreement.report(1, failed("worker:2", 7), kStart + 12s);
  CHECK(said(agreement).starts_with("0 halt worker:2 failed; starting all again in 1s"));
}

TEST_CASE("agreement: a host whose tasks the members don't take in ends alone, and they go on") {
  Agreement agreement = three_members(kOfThree);
  const auto joining = [&](int running) {
    agreement.report(7, {.kind = Report::Kind::kStanding, .generation = 1, .standings = {.running = running}},
                     kStart + 14s);
  };
  REQUIRE(agreement.join(7, host(7, 2), kStart + 13s));
  said(agreement);
  joining(2);
  joining(1);
  agreement.report(7, refused("worker:3", 65, 1), kStart + 14s);
  const std::string line = "worker:3 failed; the others go on without it";
  CHECK(said(agreement) == fmt::format("0 say {0}; 1 say {0}; 7 say {0}", line));
  CHECK(agreement.has(7));  // another task of it may be taken in
  joining(0);
  agreement.report(7, refused("worker:4", 64, 1), kStart + 14s);
  said(agreement);
  agreement.report(7, idle(1), kStart + 14s);
  CHECK(said(agreement) == "7 end 65 by 0");
  CHECK(!agreement.has(7));
  CHECK(agreement.next() == Clock::time_point::max());
  REQUIRE(agreement.join(8, host(8), kStart + 15s));  // has its place
  CHECK(said(agreement).ends_with("8 join 3 as 2/3 of h0:1000 h1:1000 h1:1001 h8:1000 h7:1001"));
}

TEST_CASE("agreement: a task that the members don't take in again isn't started again, and its host goes on") {
  Agreement agreement = three_members(kOfThree);
  agreement.report(1, members(1), kStart + 12s);
  agreement.report(1, failed("worker:2", 137, 0, SIGKILL), kStart + 12s);
  agreement.tick(kStart + 13s);
  said(agreement);
  agreement.report(1, refused("worker:2", 65, 1), kStart + 15s);
  const std::string line = "worker:2 failed; the others go on without it";
  CHECK(said(agreement) == fmt::format("0 say {0}; 1 say {0}", line));
  CHECK(agreement.next() == Clock::time_point::max());
  agreement.report(0, members(0, 0, 1), kStart + 20s);
  agreement.report(0, idle(), kStart + 20s);
  agreement.report(1, members(0, 1, 1), kStart + 20s);
  agreement.report(1, idle(1), kStart + 20s);
  CHECK(said(agreement) == "0 end 0 by 0; 1 end 0 by 0");
}

TEST_CASE("agreement: where there is no member yet, one that the others don't take in ends all at once") {
  Agreement agreement(kOfThree, kStart);
  REQUIRE(agreement.join(0, host(0), kStart));
  REQUIRE(agreement.join(1, host(1), kStart));
  agreement.tick(kStart + 10s);
  said(agreement);
  for (const LauncherId id : {0, 1})
    agreement.report(id, {.kind = Report::Kind::kStanding, .standings = {.running = 1}}, kStart + 11s);
  agreement.report(1, refused("worker:1", 65), kStart + 11s);
  CHECK(said(agreement) == "0 halt worker:1 failed; 1 halt worker:1 failed");
  agreement.report(0, idle(), kStart + 11s);
  agreement.report(1, idle(), kStart + 11s);
  CHECK(said(agreement) == "0 end 65 by 0; 1 end 65 by 0");
}

TEST_CASE("agreement: where there is no member yet, one with another key is left out if two have the same") {
  Agreement agreement(kOfThree, kStart);
  for (const LauncherId id : {0, 1, 2}) REQUIRE(agreement.join(id, host(static_cast<int>(id)), kStart));
  agreement.tick(kStart + 10s);
  said(agreement);
  for (const LauncherId id : {0, 1, 2})
    agreement.report(id, {.kind = Report::Kind::kStanding, .standings = {.running = id == 1 ? 0 : 1}}, kStart + 11s);
  agreement.report(1, refused("worker:1", 77), kStart + 11s);
  CHECK(said(agreement).ends_with("; the others go on without it"));
  agreement.report(2, {.kind = Report::Kind::kStanding, .standings = {.running = 0}}, kStart + 12s);
  agreement.report(2, refused("worker:2", 77), kStart + 12s);
  CHECK(said(agreement).starts_with("0 halt "));
}

TEST_CASE("agreement: a lost host is done without, and its places are the newcomer's, at other addresses") {
  Agreement agreement = three_members(kOfThree);
  agreement.lose(1, "gone", kStart + 12s);
  CHECK(said(agreement) ==
        "0 say the launcher of h1 is lost (gone), and worker:1 and worker:2 with it; the others go on (failure 1, at "
        "most 2)");
  REQUIRE(agreement.join(7, host(7, 1), kStart + 13s));
  CHECK(said(agreement) == "0 say h7 joins with worker:1; 7 join 2 as 1/1 of h0:1000 h7:1000 h1:1001");
  agreement.report(7, members(1, 2), kStart + 14s);
  REQUIRE(agreement.join(8, host(8, 3), kStart + 15s));
  CHECK(said(agreement).ends_with("8 join 3 as 2/2,3,4 of h0:1000 h7:1000 h8:1000 h8:1001 h8:1002"));
  SUBCASE("the tasks of a group are as many as its members know that there may be") {
    agreement.report(8, members(3, 3), kStart + 15s);
    const auto refused = agreement.join(9, host(9, 2), kStart + 16s);
    REQUIRE(!refused);
    CHECK(refused.error().code == Code::kResourceExhausted);
    CHECK(refused.error().message == "h9 is too many: the group has 3 of at most 3 launchers");
  }
}

TEST_CASE("agreement: a host whose tasks fail before it is lost itself is lost once") {
  Agreement agreement = three_members(kOfThree);
  agreement.report(1, members(1), kStart + 12s);
  agreement.report(1, failed("worker:1", 137, 0, SIGKILL), kStart + 12s);
  agreement.lose(1, "gone", kStart + 12s);
  CHECK(said(agreement).starts_with("0 say the launcher of h1 is lost (gone), and worker:1 and worker:2 with it"));
  CHECK(agreement.next() == Clock::time_point::max());
}

TEST_CASE("agreement: a launcher that can't go on itself ends all, whose tasks are started again without it") {
  Agreement agreement = three_members(kOfThree);
  agreement.report(1, {.kind = Report::Kind::kFailed, .line = "cannot write to stdout", .code = 71}, kStart + 12s);
  CHECK(said(agreement).starts_with("0 halt cannot write to stdout; starting all again in 1s"));
}

TEST_CASE("agreement: a newcomer with the address of a task that was lost takes its place") {
  Agreement agreement = three_members(kOfThree);
  agreement.lose(1, "gone", kStart + 12s);
  said(agreement);
  Joining again = host(1, 2);
  std::swap(again.addresses[0], again.addresses[1]);
  REQUIRE(agreement.join(5, again, kStart + 13s));
  CHECK(said(agreement).ends_with("5 join 2 as 1/2,1 of h0:1000 h1:1000 h1:1001"));
}

TEST_CASE("agreement: a host that comes to a group that goes on joins it, and nobody is started again") {
  Agreement agreement({.bounds = {.least = 1, .most = 2, .is_elastic = true}, .max_failures = 3}, kStart);
  REQUIRE(agreement.join(0, host(0), kStart));
  agreement.tick(kStart + 10s);
  CHECK(said(agreement) == "0 start 0 as 0/0 of h0:1000");
  agreement.report(0, members(1), kStart + 11s);
  REQUIRE(agreement.join(1, host(1), kStart + 12s));
  CHECK(said(agreement) == "0 say h1 joins with worker:1; 1 join 1 as 1/1 of h0:1000 h1:1000");
  const auto refused = agreement.join(2, host(2), kStart + 13s);
  REQUIRE(!refused);
  CHECK(refused.error().code == Code::kResourceExhausted);
}

TEST_CASE("agreement: with too few hosts left it waits up to --join, and says for whom") {
  Agreement agreement({.bounds = {.least = 2, .most = 3, .is_elastic = true}, .max_failures = 3, .join = 25s}, kStart);
  REQUIRE(agreement.join(0, host(0), kStart));
  REQUIRE(agreement.join(1, host(1), kStart));
  agreement.tick(kStart + 10s);
  agreement.report(0, members(1), kStart + 11s);
  agreement.report(1, members(1), kStart + 11s);
  agreement.lose(1, "gone", kStart + 20s);
  said(agreement);
  CHECK(agreement.next() == kStart + 30s);
  agreement.tick(kStart + 30s);
  CHECK(said(agreement) == "0 say waiting for 1 more launcher; h0 is here (10s so far)");
  SUBCASE("in which one comes") {
    REQUIRE(agreement.join(2, host(2), kStart + 31s));
    CHECK(said(agreement) == "0 say h2 joins with worker:1; 2 join 2 as 1/1 of h0:1000 h2:1000");
    CHECK(agreement.next() == Clock::time_point::max());
  }
  SUBCASE("in which none does") {
    agreement.tick(kStart + 45s);
    CHECK(said(agreement) == "0 halt gave up waiting for 1 more launcher; h0 is here (25s so far) (--join)");
    agreement.report(0, failed("worker:0", 75), kStart + 46s);
    agreement.report(0, idle(), kStart + 46s);
    CHECK(said(agreement) == "0 end 75 by 0");
  }
  SUBCASE("in which the tasks have waited long enough themselves") {
    agreement.report(0, members(0), kStart + 40s);
    agreement.report(0, failed("worker:0", 75), kStart + 40s);
    agreement.report(0, idle(), kStart + 40s);
    CHECK(said(agreement) ==
          "0 halt gave up waiting for 1 more launcher; h0 is here (20s so far) (--join); 0 end 75 by 0");
  }
}

TEST_CASE("agreement: a group whose last member ends well is done, and nobody else is waited for") {
  Agreement agreement = three_members(kOfThree);
  agreement.report(1, members(1), kStart + 12s);
  agreement.report(1, failed("worker:2", 9), kStart + 12s);
  agreement.tick(kStart + 13s);
  said(agreement);
  agreement.report(1, members(0, 1, 1), kStart + 14s);
  CHECK(agreement.next() == Clock::time_point::max());
  agreement.report(0, members(0, 0, 1), kStart + 14s);
  agreement.report(0, idle(), kStart + 14s);
  CHECK(agreement.next() == kStart + 15s);
  agreement.tick(kStart + 15s);
  CHECK(said(agreement) == "0 halt ; 1 halt ");
  agreement.report(1, idle(1), kStart + 15s);
  CHECK(said(agreement) == "0 end 0 by 0; 1 end 0 by 0");
}
