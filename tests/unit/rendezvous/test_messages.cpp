// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include "messages.hpp"

using namespace tfd;
using namespace tfd::rendezvous;

TEST_CASE("messages: what a launcher brings, reports and is told comes back as it was") {
  const auto joining = parse_joining(
      format_joining({.host = "h1", .addresses = {"h1:1", "[::1]:2"}, .same = {{"--nnodes", "2"}, {"--workers", ""}}}));
  REQUIRE(joining);
  CHECK(joining->host == "h1");
  CHECK(joining->addresses == std::vector<std::string>{"h1:1", "[::1]:2"});
  CHECK(joining->same[1].first == "--workers");
  const auto report = parse_report(format_report({.kind = Report::Kind::kFailed,
                                                  .generation = 3,
                                                  .task = "worker:1",
                                                  .line = "worker:1 said \xff",
                                                  .cause = "why",
                                                  .time = 17.25,
                                                  .step = 412,
                                                  .code = 137,
                                                  .signal = 9,
                                                  .count = 0,
                                                  .is_refused = true,
                                                  .is_final = true,
                                                  .standings = {3, 1, 2, 4, true}}));
  REQUIRE(report);
  CHECK(report->line == "worker:1 said \xef\xbf\xbd");
  CHECK(report->cause == "why");
  CHECK(report->time == 17.25);
  CHECK(report->step == 412);
  CHECK(report->code == 137);
  CHECK(report->signal == 9);
  CHECK(report->generation == 3);
  CHECK(report->is_refused);
  CHECK(report->is_final);
  CHECK(report->standings == launch::Standings{3, 1, 2, 4, true});
  const Command start{.kind = Command::Kind::kStart,
                      .plan = {.generation = 2,
                               .node = 1,
                               .nodes = 2,
                               .addresses = {"a:1", "b:1", "b:2"},
                               .own = {1, 2},
                               .least = 1,
                               .most = 4,
                               .joins = true}};
  const Command again{.kind = Command::Kind::kReplace, .plan = start.plan, .wait = std::chrono::milliseconds(1500)};
  const Command end{.kind = Command::Kind::kEnd, .line = "over", .code = 75, .signal = 15, .count = 2};
  const auto commands = parse_commands(format_commands({{4, start}, {5, end}, {6, again}}));
  REQUIRE(commands);
  REQUIRE(commands->size() == 3);
  CHECK((*commands)[0].first == 4);
  CHECK((*commands)[0].second.plan.generation == 2);
  CHECK((*commands)[0].second.plan.node == 1);
  CHECK((*commands)[0].second.plan.nodes == 2);
  CHECK((*commands)[0].second.plan.addresses == start.plan.addresses);
  CHECK((*commands)[0].second.plan.own == start.plan.own);
  CHECK((*commands)[0].second.plan.least == 1);
  CHECK((*commands)[0].second.plan.most == 4);
  CHECK((*commands)[0].second.plan.joins);
  CHECK((*commands)[1].second.line == "over");
  CHECK((*commands)[1].second.code == 75);
  CHECK((*commands)[1].second.count == 2);
  CHECK((*commands)[2].second.kind == Command::Kind::kReplace);
  CHECK((*commands)[2].second.plan.own == start.plan.own);
  CHECK((*commands)[2].second.wait == again.wait);
  CHECK(parse_seen(format_seen(7)) == 7);
}

TEST_CASE("messages: what isn't one is refused") {
  for (const char* text :
       {"", "[]", "{}", R"({"host": "h", "addresses": []})", R"({"host": "h", "addresses": ["h"]})",
        R"({"host": "", "addresses": ["h:1"], "same": []})", R"({"host": "h", "addresses": ["h:1"], "same": [["a"]]})"})
    CHECK(!parse_joining(text));
  for (const char* text : {"{}", R"({"kind": "no"})", R"({"kind": "idle", "generation": -1})",
                           R"({"kind": "idle", "generation": 0, "time": "now"})",
                           R"({"kind": "idle", "generation": 0, "time": 0, "code": 256, "signal": 0, "count": 0})"})
    CHECK(!parse_report(text));
  for (const char* text :
       {"{}", R"({"commands": [1]})", R"({"commands": [{"kind": "say"}]})",
        R"({"commands": [{"kind": "start", "line": "", "code": 0, "signal": 0, "count": 0, "number": 1}]})",
        R"({"commands": [{"kind": "start", "code": 0, "signal": 0, "count": 0, "number": 1,
            "wait_ms": 0, "plan": {"generation": 0, "node": 0, "nodes": 1, "least": 0, "most": 0, "joins": false,
                                   "addresses": ["a:1"], "own": [1]}}]})"})
    CHECK(!parse_commands(text));
  CHECK(!parse_seen("{}"));
}
