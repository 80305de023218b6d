// SPDX-License-Identifier: Apache-2.0
//
// What lives on workers: variables that each has of its own, and iterators. Gone with a worker, made again when it
// returns.
#include "asking.hpp"

using namespace tfd;
using namespace tfd::bed;
using namespace tfd::coordinate;

namespace {

void wait_until(const RemoteValue& value, ClosureState state) {
  until([&] { return value.state() == state; });
}

}  // namespace

TEST_CASE("resources: a closure touches its worker's own variable and no other's") {
  Bed bed(2);
  const auto coordinator = bed.connect();
  const auto own = good(coordinator->values_on_workers("own"));
  REQUIRE(own.size() == 2);
  CHECK(own[0].state() == ClosureState::kReady);
  CHECK(fetch(own[0]) + fetch(own[1]) == 200);
  for (int i = 0; i < 10; ++i) good(coordinator->schedule({.function = "add_own", .args = {number(1)}}));
  good(coordinator->join(soon()));
  CHECK(fetch(own[0]) + fetch(own[1]) == 210);  // read anew: the values of variables aren't kept
  good(coordinator->assign("own", number(7), soon()));
  CHECK(fetch(own[0]) == 7);
  CHECK(fetch(own[1]) == 7);
}

TEST_CASE("resources: one function reads and updates a variable of each worker and one of all") {
  Bed bed(1);
  const auto coordinator = bed.connect();
  good(coordinator->schedule({.function = "add_both", .kwargs = {{"b", number(5)}}}));
  good(coordinator->join(soon()));
  // The pair comes back swapped: 5 is added to the own one, 100 to that of all.
  CHECK(fetch(good(coordinator->values_on_workers("own"))[0]) == 105);
  CHECK(number(good(coordinator->read("v", soon()))) == 100);
}

TEST_CASE("resources: as an argument it is the value of the worker that runs the function") {
  Bed bed(1);
  const auto coordinator = bed.connect();
  CHECK(fetch(good(coordinator->schedule({.function = "double", .args = {PerWorkerVariable{"own"}}}))) == 200);
  const auto wrong = coordinator->schedule({.function = "double", .args = {PerWorkerVariable{"v"}}});
  REQUIRE_FALSE(wrong);
  CHECK(wrong.error().message == "double: argument 0: no variable 'v' of each worker");
}

TEST_CASE("resources: they are aborted while their worker is away, and made again when it returns") {
  Bed bed(2);
  const auto coordinator = bed.connect();
  const auto dataset = good(coordinator->create_per_worker_dataset("ten", soon()));
  const auto own = good(coordinator->values_on_workers("own"));
  const auto iterators = good(coordinator->values_on_workers(dataset.id));
  CHECK(iterators[1].state() == ClosureState::kReady);
  CHECK(good(iterators[1].fetch(soon())).results.empty());
  good(coordinator->assign("own", number(7), soon()));
  bed.kill("worker:1");
  wait_until(own[1], ClosureState::kAborted);
  wait_until(iterators[1], ClosureState::kAborted);
  const auto aborted = own[1].fetch(soon());
  REQUIRE_FALSE(aborted);
  CHECK(aborted.error().code == Code::kCancelled);
  CHECK(aborted.error().task == "worker:1");
  CHECK(aborted.error().message == "aborted: 'own' of worker:1 is gone with it, and made again when it returns");
  CHECK(fetch(own[0]) == 7);
  bed.start("worker:1");
  wait_until(own[1], ClosureState::kReady);
  wait_until(iterators[1], ClosureState::kReady);
  CHECK(fetch(own[1]) == 100);  // begins anew
  CHECK(fetch(own[0]) == 7);
}

TEST_CASE("resources: they outlive their coordinator as aborted ones") {
  Bed bed(1);
  auto coordinator = bed.connect();
  const auto own = good(coordinator->values_on_workers("own"));
  coordinator.reset();
  CHECK(own[0].state() == ClosureState::kAborted);
  CHECK(own[0].fetch(soon()).error().code == Code::kCancelled);
}

TEST_CASE("resources: only what lives on workers has a value there, and it has none elsewhere") {
  Bed bed(1);
  const auto coordinator = bed.connect();
  CHECK(coordinator->values_on_workers("v").error().code == Code::kNotFound);
  CHECK(coordinator->values_on_workers("ten#5").error().code == Code::kNotFound);
  CHECK(coordinator->read("own", soon()).error().message ==
        "variable 'own' is each worker's own: every worker has another value");
  for (const auto& [name, value] : good(coordinator->export_state(soon()))) CHECK(name != "own");
}
