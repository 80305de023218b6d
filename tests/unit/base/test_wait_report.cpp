// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include "tfd/base/wait_report.hpp"

using namespace tfd;
using namespace std::chrono_literals;

TEST_CASE("wait report: a line after ten seconds, then every thirty") {
  const Clock::time_point start{};
  WaitReport report(kFirstWaitReport, start);
  CHECK(report.since() == start);
  CHECK(report.next() == start + 10s);
  CHECK_FALSE(report.take_due(start + 9999ms));
  CHECK_FALSE(report.has_reported());
  CHECK(report.take_due(start + 10s));
  CHECK(report.has_reported());
  CHECK(report.line("worker:1 to join", start + 10s) == "waiting for worker:1 to join (10s so far)");
  CHECK(report.next() == start + 40s);
  CHECK_FALSE(report.take_due(start + 39s));
  CHECK(report.take_due(start + 45s));
  CHECK(report.next() == start + 75s);
}

TEST_CASE("wait report: how long is rounded down") {
  const Clock::time_point start{};
  const WaitReport report(20ms, start);
  CHECK(report.waited(start + 299900us) == "299ms");
  CHECK(report.waited(start + 1999ms) == "1s");
  CHECK(report.waited(start + 95s) == "1m35s");
}

TEST_CASE("wait report: a wait that begins again has no line yet") {
  const Clock::time_point start{};
  WaitReport report(20ms, start);
  CHECK(report.take_due(start + 20ms));
  CHECK(report.next() == start + 80ms);
  report.begin(start + 1s);
  CHECK(report.since() == start + 1s);
  CHECK_FALSE(report.has_reported());
  CHECK(report.next() == start + 1020ms);
}
