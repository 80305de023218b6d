// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include "http/training_view.hpp"

using namespace tfd;
using namespace tfd::http;

TEST_CASE("http: a curve of many points is thinned out, and keeps the first and the last") {
  Curve curve;
  for (int step = 1; step <= 100'000; ++step) curve.add(step, 2.0 * step);
  const auto points = curve.points();
  CHECK(points.size() >= 200);
  CHECK(points.size() <= 520);
  CHECK(points.front().first == 1);
  CHECK(points.back() == std::pair<std::int64_t, double>(100'000, 200'000));
  for (std::size_t i = 1; i < points.size(); ++i) CHECK(points[i - 1].first < points[i].first);
}

TEST_CASE("http: a curve goes on from an earlier state that was restored") {
  Curve curve;
  for (int step = 1; step <= 10; ++step) curve.add(step, 1);
  curve.add(4, 2);
  CHECK(curve.points().size() == 4);
  CHECK(curve.points().back() == std::pair<std::int64_t, double>(4, 2));
}

TEST_CASE("http: events tell a training, and what isn't one is passed over") {
  TrainingView view;
  const auto now = Clock::now();
  for (const char* const line : {"", "[]", "nonsense", R"({"event": 3})", R"({"event": "step"})", R"({"loss": 1})"})
    view.add_event(line, now);
  CHECK_FALSE(view.has_begun);
  view.add_event(R"({"event": "start", "program": "p", "step": 5, "steps": 20, "resumed_from": "ck/a"})", now);
  CHECK(view.has_begun);
  CHECK(view.step == 5);
  CHECK(view.checkpoint == "ck/a");
  view.add_event(R"({"event": "step", "step": 10, "metrics": {"loss": 0.5}, "rates": {"steps_per_second": 2}})", now);
  view.add_event(R"({"event": "eval", "step": 10, "metrics": {"loss": 0.75}})", now);
  CHECK(view.metrics.front().second == 0.5);
  CHECK(view.evaluation.front().second == 0.75);
  CHECK(view.seconds_left() == 5.0);
  view.set_step(15, now);
  CHECK(view.seconds_left() == 2.5);
  view.add_event(R"({"event": "worker", "task": "worker:1", "state": "lost", "step": 15})", now);
  CHECK(view.lost_workers == 1);
  view.add_event(R"({"event": "server", "task": "ps:1", "state": "lost", "step": 17})", now);
  CHECK(view.lost_servers == 1);
  CHECK(view.awaited_server == "ps:1");
  CHECK(view.step == 17);
  view.add_event(R"({"event": "start", "program": "p.json", "step": 10, "steps": 20})", now);
  CHECK(view.step == 10);
  CHECK(view.awaited_server.empty());
  view.add_event(R"({"event": "end", "reason": "done", "step": 20})", now);
  CHECK(view.ended == "done");
  CHECK_FALSE(view.seconds_left());
}
