// SPDX-License-Identifier: Apache-2.0
#include "stall_report.hpp"

#include <doctest/doctest.h>

#include "ready_workers.hpp"

namespace tfd::coordinator {
namespace {

using namespace std::chrono_literals;

constexpr Clock::time_point kStart{1h};

}  // namespace

TEST_CASE("stall report: comes after the limit, then after twice as long each time") {
  StallReport report(10s);
  CHECK_FALSE(report.look(true, kStart));
  CHECK_FALSE(report.look(true, kStart + 9s));
  CHECK(report.look(true, kStart + 10500ms) == 10s);
  CHECK_FALSE(report.look(true, kStart + 19s));
  CHECK(report.look(true, kStart + 20s) == 20s);
  CHECK_FALSE(report.look(true, kStart + 39s));
  CHECK(report.look(true, kStart + 40s) == 40s);
}

TEST_CASE("stall report: comes once after a time in which nobody looked") {
  StallReport report(10s);
  CHECK_FALSE(report.look(true, kStart));
  CHECK(report.look(true, kStart + 100s) == 100s);
  CHECK_FALSE(report.look(true, kStart + 101s));
  CHECK_FALSE(report.look(true, kStart + 159s));
  CHECK(report.look(true, kStart + 160s) == 160s);
}

TEST_CASE("stall report: begins anew with an answer, when there is nothing to wait for, and with an evaluation") {
  StallReport report(10s);
  CHECK_FALSE(report.look(true, kStart));
  CHECK(report.look(true, kStart + 10s) == 10s);
  report.progressed();
  CHECK_FALSE(report.look(true, kStart + 100s));  // the answer came since the last look
  CHECK(report.look(true, kStart + 110s) == 10s);
  CHECK_FALSE(report.look(false, kStart + 200s));
  CHECK(report.look(true, kStart + 210s) == 10s);
  CHECK_FALSE(report.look(false, kStart + 300s));
  report.restart(kStart + 305s);
  CHECK_FALSE(report.look(true, kStart + 310s));
  CHECK(report.look(true, kStart + 315s) == 10s);
}

TEST_CASE("stall report: names each worker that holds things up, and why") {
  WorkerPool workers;
  for (int i = 0; i < 5; ++i) workers.add(fmt::format("worker:{}", i), Window(4));
  const auto now = kStart + 60s;
  const auto describe = [&](const Evaluation* evaluation = nullptr, std::size_t queued = 0) {
    return describe_waiting(workers, evaluation, queued, now);
  };
  bring_up(workers, 0, Window(4), kStart);  // it has nothing to do
  workers.leave(1);
  const auto loading = workers.up(2, 1, true, kStart + 10s);
  workers.up(3, 1, false, kStart);
  CHECK(describe() ==
        "worker:2 (loading the program for 50s), worker:3 (up, waiting for the parameter servers) and worker:4 (away "
        "for the start: not reached yet)");
  CHECK(workers.occupied(2, *loading, "still running 'f'"));
  bring_up(workers, 4, Window(4), kStart);
  workers.lose(4, std::nullopt, "it was restarted", false, kStart + 20s);
  CHECK(describe() ==
        "worker:2 (still running 'f' for 50s), worker:3 (up, waiting for the parameter servers) and worker:4 (away for "
        "40s: it was restarted)");
  workers.ready(2, *loading, Window(4), kStart);
  for (const std::size_t i : {3, 4}) bring_up(workers, i, Window(4), kStart);
  CHECK(describe() == "nobody");
  workers.give(3, 1, false, kStart + 30s);
  CHECK(describe(nullptr, 7) == "worker:3 (holds 1 closure, last answer 30s ago); 7 more queued");
  CHECK(describe_waiting(workers, nullptr, 0, now, {{"ps:1", kStart + 40s}}) ==
        "ps:1 (away for 20s) and worker:3 (holds 1 closure, last answer 30s ago)");
  Evaluation evaluation({.function = "eval", .parts = 1});
  REQUIRE(evaluation.take_part(2));
  CHECK(describe(&evaluation) ==
        "worker:2 (evaluating, last answer 1m ago) and worker:3 (holds 1 closure, last answer 30s ago)");
}

TEST_CASE("stall report: of many workers it names the first") {
  WorkerPool workers;
  for (int i = 0; i < 100; ++i) workers.add(fmt::format("worker:{}", i), Window(4));
  const std::string text = describe_waiting(workers, nullptr, 0, kStart);
  CHECK(text.find("worker:7 ") != std::string::npos);
  CHECK(text.find("worker:8 ") == std::string::npos);
  CHECK(text.ends_with(" and 92 others"));
}

}  // namespace tfd::coordinator
