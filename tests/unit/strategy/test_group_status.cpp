// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include "group/group_status.hpp"

namespace tfd::strategy {
namespace {

using std::chrono::milliseconds;

/// How long each waits in a step for this member alone.
std::vector<Duration> waits_for(std::size_t late, std::size_t members, Duration by) {
  std::vector<Duration> out(members, by);
  out[late] = {};
  return out;
}
/// Steps of 100 ms.
void add_steps(Lateness& lateness, std::size_t steps, std::size_t members, std::size_t late, Duration by) {
  for (std::size_t i = 0; i < steps; ++i) lateness.add(milliseconds(100), waits_for(late, members, by));
}

TEST_CASE("lateness: who is last in most steps, by much, is a straggler") {
  Lateness lateness(3);
  add_steps(lateness, 99, 3, 2, milliseconds(41));
  CHECK_FALSE(lateness.straggler());  // too few steps
  add_steps(lateness, 1, 3, 1, milliseconds(5));
  const auto found = lateness.straggler();
  REQUIRE(found);
  CHECK(found->rank == 2);
  CHECK(found->steps == 99);
  CHECK(found->late == milliseconds(41));
  CHECK(found->step == milliseconds(100));
  CHECK(lateness.medians() == std::vector<Duration>{{}, {}, milliseconds(41)});
}

TEST_CASE("lateness: by a fifth of a step, in few of a hundred steps, or by no more than noise is none") {
  Lateness little(2);
  add_steps(little, 100, 2, 1, milliseconds(20));
  CHECK_FALSE(little.straggler());
  Lateness seldom(2);
  add_steps(seldom, 79, 2, 1, milliseconds(60));
  add_steps(seldom, 21, 2, 0, milliseconds(60));
  CHECK_FALSE(seldom.straggler());
  add_steps(seldom, 100, 2, 1, milliseconds(60));  // only the last hundred count
  CHECK(seldom.straggler());
  Lateness noise(2);
  for (int i = 0; i < 100; ++i) noise.add(milliseconds(1), {Duration{}, milliseconds(1)});
  CHECK_FALSE(noise.straggler());
  Lateness alike(3);  // all wait, as where there are fewer processors than members
  for (int i = 0; i < 100; ++i) alike.add(milliseconds(9), {milliseconds(8), milliseconds(8), milliseconds(7)});
  CHECK_FALSE(alike.straggler());
  CHECK(alike.medians() == std::vector<Duration>{{}, {}, milliseconds(1)});
}

TEST_CASE("group status: a straggler is named once, by the chief, and the chief by the next one") {
  const auto lines_of = [](std::size_t rank, std::size_t late) {
    GroupStatus status;
    status.enter(1, {"worker:0", "worker:1", "worker:2"}, rank, {.all = 3, .first = static_cast<int>(rank), .count = 1},
                 0);
    std::vector<std::string> lines;
    const auto waits = waits_for(late, 3, milliseconds(41));
    for (std::int64_t step = 1; step <= 300; ++step)
      if (const auto line = status.made(step, Clock::now() - milliseconds(130), waits)) lines.push_back(*line);
    return lines;
  };
  const auto named = lines_of(0, 2);
  REQUIRE(named.size() == 1);
  CHECK(named.front().starts_with("worker:2 is last in 100 of 100 steps, by 41 of 13"));
  CHECK(lines_of(1, 2).empty());
  CHECK(lines_of(2, 0).empty());
  CHECK(lines_of(1, 0).size() == 1);
}

TEST_CASE("group status: what is shown is of the generation") {
  GroupStatus status;
  task::TaskStatus shown;
  status.describe(shown);
  CHECK_FALSE(shown.group);
  status.enter(3, {"worker:2", "worker:0"}, 1, {.all = 8, .first = 4, .count = 4}, 70);
  static_cast<void>(status.made(71, Clock::now(), {Duration{}, milliseconds(7)}));
  status.describe(shown);
  REQUIRE(shown.group);
  CHECK(shown.group->step == 71);
  CHECK(shown.group->generation == 3);
  CHECK(shown.group->first_replica == 4);
  CHECK(shown.group->own_replicas == 4);
  CHECK(shown.group->replicas == 8);
  CHECK(shown.group->late == std::vector<std::pair<std::string, std::int64_t>>{{"worker:2", 7000}});
}

TEST_CASE("group status: a member says what it does, and for what it waits") {
  const auto compiling = std::make_shared<function::Compiling>();
  GroupStatus status(compiling);
  const auto shown = [&] {
    task::TaskStatus out;
    status.describe(out);
    return out.doing + ": " + out.waits_for;
  };
  CHECK(shown() == "step 1: ");
  status.enter(1, {"worker:0", "worker:1"}, 1, {.all = 2, .first = 1, .count = 1}, 22);
  status.begin(Doing::kData);
  CHECK(shown() == "step 23: its data");
  status.set_data("cat a.csv");
  CHECK(shown() == "step 23: its data (cat a.csv)");
  status.begin(Doing::kEvaluation);
  CHECK(shown() == "the evaluation after step 22: ");
  status.begin(Doing::kSaving);
  CHECK(shown() == "the checkpoint of step 22: its disk");
  status.begin(Doing::kStep);
  {
    const auto token = compiling->begin("train_step");
    CHECK(shown() == "step 23: the compiler (train_step)");
    status.wait_for("worker:0", std::chrono::seconds(5));
    CHECK(shown() == "step 23: worker:0");
  }
  task::TaskStatus waits;
  status.describe(waits);
  CHECK(waits.doing_ms >= 5000);
  status.begin(Doing::kStep);
  CHECK(shown() == "step 23: ");
}

}  // namespace
}  // namespace tfd::strategy
