// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <chrono>
#include <csignal>

#include "temporary_directory.hpp"
#include "tfd/base/file.hpp"
#include "tfd/launch/faults.hpp"
#include "tfd/launch/member_file.hpp"
#include "tfd/launch/restarts.hpp"

using namespace std::chrono_literals;
using namespace tfd;
using namespace tfd::launch;

TEST_CASE("restarts: the wait doubles to a minute, and begins anew after a minute without a failure") {
  const Clock::time_point start{};
  Restarts restarts(100, start);
  Clock::time_point now = start;
  std::string waits;
  for (int i = 0; i < 8; ++i) waits += fmt::format("{} ", *restarts.on_failure(now += 1s, 1) / 1s);
  CHECK(waits == "1 2 4 8 16 32 60 60 ");
  CHECK(*restarts.on_failure(now += 60s, 1) == 1s);
  CHECK(*restarts.on_failure(now += 59s, 1) == 2s);
}

TEST_CASE("restarts: more failures than the limit within ten minutes are too many") {
  const Clock::time_point start{};
  Restarts restarts(2, start);
  CHECK(restarts.on_failure(start + 1s, 1));
  CHECK(restarts.on_failure(start + 2s, 1));
  CHECK(restarts.on_failure(start + 3s, 0));  // a preemption
  CHECK(restarts.count() == 2);
  CHECK(!restarts.on_failure(start + 4s, 1));
  CHECK(restarts.count() == 3);
}

TEST_CASE("restarts: what is ten minutes ago counts no more; none are borne with 0") {
  const Clock::time_point start{};
  Restarts restarts(1, start);
  CHECK(restarts.on_failure(start + 1s, 1));
  CHECK(restarts.on_failure(start + 601s, 1));
  CHECK(!restarts.on_failure(start + 1200s, 1));
  CHECK(!Restarts(0, start).on_failure(start, 1));
}

TEST_CASE("restarts: the third failure in a row in one step is too many, whoever dies in it") {
  Restarts restarts(10, Clock::time_point());
  CHECK(restarts.on_failure(Clock::time_point(1s), 1, "worker:1", 412));
  CHECK(restarts.on_failure(Clock::time_point(2s), 1, "worker:1", 413));
  CHECK(restarts.on_failure(Clock::time_point(3s), 1, "worker:2", 413));
  CHECK(restarts.on_failure(Clock::time_point(4s), 0, "worker:2", 413));  // a preemption
  SUBCASE("one that says no step") {
    CHECK(restarts.on_failure(Clock::time_point(5s), 1, "worker:1"));
    CHECK(restarts.on_failure(Clock::time_point(6s), 1, "worker:1", 413));
  }
  SUBCASE("three") {
    CHECK_FALSE(restarts.on_failure(Clock::time_point(5s), 1, "worker:1", 413));
    CHECK(restarts.too_many() == "worker:1 and worker:2 died in step 413, three times in all");
  }
}

TEST_CASE("restarts: tasks that die together are as many failures, and one death in their step") {
  Restarts restarts(3, Clock::time_point());
  CHECK(restarts.on_failure(Clock::time_point(1s), 1, "worker:1", 412));
  CHECK(restarts.describe(1) == "failure 1, at most 3");
  CHECK(restarts.on_failure(Clock::time_point(2s), 2, "worker:1", 412));
  CHECK(restarts.describe(2) == "failures 2 to 3, at most 3");
  CHECK(restarts.describe(0) == "a preemption, no failure");
  CHECK_FALSE(restarts.on_failure(Clock::time_point(3s), 1, "worker:1", 413));
  CHECK(restarts.too_many() == "4 failures in 10m are too many (--max-failures 3)");
}

TEST_CASE(
    "restarts: each task that dies of its own counts, but for one cause that several state, losses of others, "
    "preemptions") {
  FailuresTogether failures;
  failures.add({137, SIGKILL}, "");
  failures.add({137, SIGKILL}, "");
  CHECK(failures.count() == 2);
  failures.add({70, 0}, "a difference");
  failures.add({70, 0}, "a difference");
  failures.add({70, 0}, "worker:1: a difference");  // the same, as others are told it
  CHECK(failures.count() == 3);
  failures.add({69, 0}, "worker:1 is lost");
  failures.add({75, 0}, "");
  failures.add({143, SIGTERM}, "");
  CHECK(failures.count() == 3);
  failures.clear();
  CHECK(failures.count() == 0);
}

TEST_CASE("member file: what a task says of itself, and the step that it makes, as the launcher reads it") {
  const test::TemporaryDirectory folder;
  const std::string path = folder / "worker-1.member";
  CHECK(load_member_state(path).standing == Standing::kAlone);
  MemberFile file(path);
  file.note_step(3);  // it isn't a member
  CHECK(load_member_state(path).standing == Standing::kAlone);
  file.say(std::nullopt);
  CHECK(load_member_state(path).standing == Standing::kJoining);
  file.say(9);
  CHECK(load_member_state(path).step == 9);
  for (const std::int64_t step : {10, 11, 1000}) file.note_step(step);
  CHECK(load_member_state(path).standing == Standing::kMember);
  CHECK(load_member_state(path).step == 1000);
  file.say(7);  // from an earlier checkpoint
  CHECK(load_member_state(path).step == 7);
  CHECK_FALSE(load_member_state(path).is_done);
  file.say_done();
  file.note_step(8);
  CHECK(load_member_state(path).is_done);
  CHECK(load_member_state(path).standing == Standing::kMember);
  MemberFile alone(folder / "worker-2.member", false);
  alone.say(std::nullopt);
  CHECK(load_member_state(folder / "worker-2.member").standing == Standing::kAlone);
  alone.say(9);
  alone.note_step(10);
  CHECK(load_member_state(folder / "worker-2.member").standing == Standing::kAlone);
  CHECK(load_member_state(folder / "worker-2.member").step == 10);
  alone.say_done();
  CHECK_FALSE(load_member_state(folder / "worker-2.member").is_done);
  REQUIRE(save_file(path, "member\n"));
  CHECK(load_member_state(path).standing == Standing::kMember);
  CHECK_FALSE(load_member_state(path).step);
}

TEST_CASE("restarts: SIGTERM and 75 are preemptions") {
  CHECK(Restarts::is_preemption({128 + SIGTERM, SIGTERM}));
  CHECK(Restarts::is_preemption({75, 0}));
  CHECK(!Restarts::is_preemption({128 + SIGKILL, SIGKILL}));
  CHECK(!Restarts::is_preemption({1, 0}));
}

TEST_CASE("faults: kind, task and time; else what is wrong") {
  const Fault fault = parse_fault("stop worker:1 after 1m30s").value();
  CHECK(fault.signal == SIGSTOP);
  CHECK(fault.task == cluster::TaskId{"worker", 1});
  CHECK(fault.after == 90s);
  CHECK(parse_fault("kil worker:1 after 1s").error().message ==
        "'kil' is none of kill, stop, cont and term, did you mean 'kill'?");
  CHECK(parse_fault("kill worker:1").error().message ==
        "'kill worker:1' is no fault: such as kill worker:1 after 5s, or kill worker:1 at step 412");
  const auto at_step = parse_fault("stop worker:1 at step 412");
  REQUIRE(at_step);
  CHECK(at_step->step == 412);
  CHECK(at_step->signal == SIGSTOP);
  CHECK(format_fault(*at_step) == "stop worker:1 at step 412");
  CHECK_FALSE(parse_fault("cont worker:1 at step 412"));
  CHECK_FALSE(parse_fault("kill worker:1 at step 0"));
  CHECK(!parse_fault("kill worker after 1s"));
  CHECK(!parse_fault("kill worker:1 after soon"));
  CHECK(!parse_fault(""));
}
