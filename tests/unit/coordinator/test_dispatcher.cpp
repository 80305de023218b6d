// SPDX-License-Identifier: Apache-2.0
//
// The way of closures to workers and what becomes of them, without workers or a network.
#include "dispatch/dispatcher.hpp"

#include <doctest/doctest.h>

#include "ready_workers.hpp"

namespace tfd::coordinator {
namespace {

using namespace std::chrono_literals;

constexpr Clock::time_point kNow{1h};
const Error kFailed{Code::kInvalidArgument, "bad", {}};

/// Ready workers, and closures that they are given.
struct Floor {
  ClosureTable closures;
  WorkerPool workers;
  Dispatcher dispatcher;

  explicit Floor(std::size_t count, Window window = Window(4), Dispatcher::Rules rules = {}, bool keep_going = false)
      : closures(0, keep_going), dispatcher(closures, workers, rules) {
    for (std::size_t i = 0; i < count; ++i) {
      workers.add(fmt::format("worker:{}", i), window);
      bring_up(workers, i, window, kNow);
    }
  }
  ClosurePtr add(std::uint64_t bytes = 0, const std::string& function = "f") {
    auto closure = std::make_shared<Closure>();  // with the table
    closures.add(closure);
    closure->value = std::make_shared<RemoteValue::Shared>(closure->id, std::make_shared<CoordinatorLink>());
    closure->bytes = bytes;
    closure->call.function = function;
    return closure;
  }
  std::vector<ClosurePtr> add_many(int count) {
    std::vector<ClosurePtr> added;
    for (int i = 0; i < count; ++i) added.push_back(add());
    return added;
  }
  std::vector<Dispatcher::Assignment> assign() { return dispatcher.assign(kNow); }
  /// Takes a worker's closures, and brings it back.
  Dispatcher::Loss dies(std::size_t worker) {
    const Window window = workers[worker].window();
    take_down(workers, worker, kNow);
    auto loss = dispatcher.lose(worker, true);
    bring_up(workers, worker, window, kNow);
    return loss;
  }
};

ClosureState outcome_of(const ClosurePtr& closure) { return closure->value->state.load(); }

std::vector<std::size_t> workers_of(const std::vector<Dispatcher::Assignment>& assigned) {
  std::vector<std::size_t> out;
  for (const auto& one : assigned) out.push_back(one.worker);
  return out;
}

}  // namespace

TEST_CASE("dispatcher: idle workers come first, then others are filled up to their window, in the closures' order") {
  Floor floor(3, Window(2));
  const auto closures = floor.add_many(8);
  const auto assigned = floor.assign();
  CHECK(workers_of(assigned) == std::vector<std::size_t>{0, 1, 2, 0, 1, 2});
  for (std::size_t i = 0; i < assigned.size(); ++i) CHECK(assigned[i].closure == closures[i]);
  CHECK(floor.closures.queued() == 2);
  CHECK(floor.dispatcher.finish(assigned[1], task::ClosureOutcome(), kNow));
  CHECK(outcome_of(closures[1]) == ClosureState::kReady);
  CHECK(workers_of(floor.assign()) == std::vector<std::size_t>{1});
}

TEST_CASE(
    "dispatcher: workers with short closures get them in handfuls, of which each has some, and not before half is "
    "done") {
  Window window(64);
  for (int i = 0; i < 10; ++i) window.ran(10us);
  REQUIRE(window.size() == 64);
  Floor floor(3, window);
  floor.add_many(30);
  CHECK(workers_of(floor.assign()) == [] {
    std::vector<std::size_t> out;
    for (std::size_t worker = 0; worker < 3; ++worker) out.insert(out.end(), 10, worker);
    return out;
  }());
  floor.add_many(200);
  const auto filled = floor.assign();
  CHECK(filled.size() == 3 * 64 - 30);
  for (int i = 0; i < 31; ++i)
    floor.dispatcher.finish(filled[static_cast<std::size_t>(i)], task::ClosureOutcome(), kNow);
  CHECK(floor.assign().empty());
  floor.dispatcher.finish(filled[31], task::ClosureOutcome(), kNow);
  CHECK(workers_of(floor.assign()) == std::vector<std::size_t>(32, 0));
}

TEST_CASE("dispatcher: a worker's window follows how long its closures take there") {
  Window window(64);
  CHECK(window.size() == 8);
  for (int i = 0; i < 10; ++i) window.ran(1ms);
  CHECK(window.size() == 20);
  window.ran(1s);
  CHECK(window.size() == 2);
  for (int i = 0; i < 100; ++i) window.ran(1s);
  CHECK(window.size() == 2);
  for (int i = 0; i < 100; ++i) window.ran(1us);
  CHECK(window.size() == 64);
}

TEST_CASE("dispatcher: an answer that comes after its closure has migrated does nothing") {
  Floor floor(1);
  const ClosurePtr closure = floor.add();
  const auto first = floor.assign().front();
  CHECK(floor.dies(0).migrated == 1);
  CHECK_FALSE(floor.dispatcher.holds(first));
  CHECK_FALSE(floor.dispatcher.finish(first, task::ClosureOutcome(), kNow));
  CHECK_FALSE(floor.dispatcher.returned(first, kNow));
  CHECK(floor.dispatcher.put_back(first, kFailed) == nullptr);
  const auto second = floor.assign().front();
  CHECK(second.closure == closure);
  CHECK_FALSE(floor.dispatcher.finish(first, fail(kFailed), kNow));  // though the worker holds it again
  CHECK(floor.dispatcher.finish(second, task::ClosureOutcome(), kNow));
  CHECK(outcome_of(closure) == ClosureState::kReady);
}

TEST_CASE("dispatcher: an error without a task is its worker's, and what a worker returns then is cancelled") {
  Floor floor(1);
  const auto closures = floor.add_many(3);
  const auto assigned = floor.assign();
  REQUIRE(assigned.size() == 3);
  const auto queued = floor.dispatcher.returned(assigned[2], kNow);  // no error is pending: for an idle worker
  REQUIRE(queued);
  CHECK(*queued == nullptr);
  CHECK(floor.dispatcher.finish(assigned[0], fail(kFailed), kNow));
  CHECK(floor.closures.error()->task == "worker:0");
  const auto cancelled = floor.dispatcher.returned(assigned[1], kNow);
  REQUIRE(cancelled);
  CHECK(*cancelled == closures[1]);
  CHECK(outcome_of(closures[1]) == ClosureState::kCancelled);
  CHECK(floor.assign().empty());  // until the error is raised
}

TEST_CASE("dispatcher: a worker's death counts for what it had started, which fails at the limit") {
  Floor floor(1, Window(4), {.max_losses = 2}, true);
  const ClosurePtr bad = floor.add();
  bad->label = "line 7";
  const auto behind = floor.add_many(2);
  floor.assign();
  CHECK(floor.dies(0).migrated == 3);
  CHECK(bad->died_of.size() == 1);
  CHECK(behind[0]->died_of.empty());
  while (floor.closures.next()->id != bad->id)  // it went to the end of the queue, like the others
    floor.dispatcher.finish(floor.assign().front(), task::ClosureOutcome(), kNow);
  floor.assign();
  const auto loss = floor.dies(0);
  REQUIRE(loss.ended.size() == 1);
  CHECK(loss.ended[0] == bad);
  CHECK(loss.migrated == 2);
  CHECK(bad->value->error.code == Code::kAborted);
  CHECK(bad->value->error.message ==
        "line 7 ('f') was running on a worker that died, 2 times (worker:0): not retrying it");
}

TEST_CASE("dispatcher: a closure that three workers died of is named once, and one that is lost otherwise never") {
  Floor floor(4);
  const ClosurePtr closure = floor.add();
  for (std::size_t worker = 0; worker < 4; ++worker) {
    REQUIRE(floor.assign().front().worker == worker);
    const auto loss = floor.dies(worker);
    REQUIRE(loss.suspicions.size() == (worker == 2 ? 1 : 0));
    if (worker != 2) continue;
    CHECK(loss.suspicions[0] ==
          "closure 1 ('f') was running on a worker that died, 3 times (worker:0, worker:1 and worker:2): it may be the "
          "cause; retrying it (--max-losses limits this)");
  }
  floor.assign();
  CHECK(floor.dispatcher.lose(0, false).migrated == 1);
  CHECK(closure->died_of.size() == 4);
}

TEST_CASE("dispatcher: of closures that may have overtaken each other none counts a loss, and each runs alone then") {
  Floor floor(1, Window(4), {.max_losses = 1});
  const ClosurePtr wide = floor.add(1 << 20, "wide"), small = floor.add(8, "small"), last = floor.add(8, "small");
  floor.assign();
  const auto loss = floor.dies(0);
  CHECK(loss.ended.empty());
  for (const ClosurePtr& one : {wide, small}) {
    CHECK(one->died_of.empty());
    CHECK(one->runs_alone);
  }
  CHECK_FALSE(last->runs_alone);  // it can't have overtaken the other small one
  CHECK(floor.assign().size() == 1);
}

TEST_CASE("dispatcher: of closures whose answers their worker may hold none counts a loss, and each runs alone then") {
  Floor floor(1, Window(4), {.max_losses = 1}, true);
  const auto closures = floor.add_many(4);
  for (const ClosurePtr& one : closures) one->updates = true;
  floor.assign();
  CHECK(floor.dies(0).ended.empty());
  for (const ClosurePtr& one : closures) CHECK(one->died_of.empty());
  for (const ClosurePtr& one : closures) CHECK(one->runs_alone);  // it runs, if those before it are done
  CHECK(floor.assign().size() == 1);
  CHECK(floor.dies(0).ended == ClosurePtrs{closures[0]});
}

TEST_CASE("dispatcher: the answer of a closure without updates isn't held: the first one is the one that runs") {
  Floor floor(1, Window(4), {.max_losses = 1}, true);
  const auto closures = floor.add_many(4);
  for (const ClosurePtr& one : closures) one->updates = one != closures[0];
  floor.assign();
  CHECK(floor.dies(0).ended == ClosurePtrs{closures[0]});
  CHECK_FALSE(closures[1]->runs_alone);
}

TEST_CASE("dispatcher: behind a closure that may be done the next one may run, and no other") {
  Floor floor(1, Window(4), {.max_losses = 1}, true);
  const auto closures = floor.add_many(4);
  closures[0]->updates = true;
  floor.assign();
  CHECK(floor.dies(0).ended.empty());
  CHECK(closures[0]->runs_alone);
  CHECK(closures[1]->runs_alone);
  CHECK_FALSE(closures[2]->runs_alone);
}

TEST_CASE("dispatcher: whoever listens to moves is told of each closure that is queued again") {
  Floor floor(1);
  const auto closures = floor.add_many(2);
  closures[1]->on_moved = [](const std::string&, const std::string&) {};
  floor.assign();
  const auto loss = floor.dies(0);
  REQUIRE(loss.moved.size() == 1);
  CHECK(loss.moved[0] == closures[1]);
}

TEST_CASE("dispatcher: rebalancing takes a fair share from workers that haven't answered for long, once at a time") {
  Floor floor(3, Window(8), {.balance_after = 50ms});
  for (const std::size_t i : {1, 2}) take_down(floor.workers, i, kNow);
  floor.add_many(7);
  floor.assign();
  CHECK(floor.dispatcher.schedule_rebalance());
  CHECK_FALSE(floor.dispatcher.schedule_rebalance());  // it is due already
  for (const std::size_t i : {1, 2}) bring_up(floor.workers, i, Window(8), kNow);
  const auto early = floor.dispatcher.rebalance(nullptr, kNow + 49ms);
  CHECK(early.must_wait);
  CHECK(early.requests.empty());
  const auto found = floor.dispatcher.rebalance(nullptr, kNow + 50ms);
  CHECK_FALSE(found.must_wait);
  REQUIRE(found.requests.size() == 1);
  CHECK(found.requests[0].worker == 0);
  CHECK(found.requests[0].count == 4);                                       // of six that wait, for two idle workers
  CHECK(floor.dispatcher.rebalance(nullptr, kNow + 99ms).requests.empty());  // it has been asked
  floor.dispatcher.request_answered(found.requests[0]);
  CHECK(floor.dispatcher.rebalance(nullptr, kNow + 99ms).requests.size() == 1);
}

TEST_CASE("dispatcher: nothing is rebalanced while closures are queued, an error is pending, or nobody is idle") {
  Floor floor(2, Window(2), {.balance_after = 50ms});
  const auto is_asked = [&](const Evaluation* evaluation = nullptr) {
    return !floor.dispatcher.rebalance(evaluation, kNow + 1s).requests.empty();
  };
  floor.add_many(5);
  const auto assigned = floor.assign();
  CHECK_FALSE(floor.dispatcher.schedule_rebalance());
  CHECK_FALSE(is_asked());
  for (const std::size_t i : {1, 3}) floor.dispatcher.finish(assigned[i], task::ClosureOutcome(), kNow);
  floor.assign();
  CHECK(floor.dispatcher.schedule_rebalance());
  CHECK_FALSE(is_asked());  // both run a closure
  const auto held = floor.workers[1].held();
  for (const ClosureId id : held)
    floor.dispatcher.finish({1, floor.workers[1].generation(), floor.closures.find(id)}, task::ClosureOutcome(), kNow);
  CHECK(is_asked());
  Evaluation evaluation({.function = "eval", .parts = 1});
  floor.workers.gave_back(0, floor.workers[0].generation());
  evaluation.take_part(1);
  CHECK_FALSE(is_asked(&evaluation));
  floor.dispatcher.finish(assigned[0], fail(kFailed), kNow);
  CHECK_FALSE(is_asked());
}

}  // namespace tfd::coordinator
