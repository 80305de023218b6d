// SPDX-License-Identifier: Apache-2.0
//
// The choice of workers for closures, without workers or a network. Their life: test_worker_life.cpp.
#include <doctest/doctest.h>

#include <map>
#include <random>
#include <set>

#include "ready_workers.hpp"
#include "workers/worker_pool.hpp"

namespace tfd::coordinator {
namespace {

using Share = WorkerPool::Share;

WorkerPool ready_workers(std::size_t count, std::size_t window) {
  WorkerPool pool;
  for (std::size_t i = 0; i < count; ++i) {
    pool.add(fmt::format("worker:{}", i), Window(window));
    bring_up(pool, i, Window(window));
  }
  return pool;
}

/// Closures 1, 2, … to workers in turn; the workers that got them.
std::vector<std::size_t> give_all(WorkerPool& pool, Share share, ClosureId first = 1) {
  std::vector<std::size_t> got;
  while (const auto index = pool.take_turn(share, false)) {
    pool.give(*index, first++, false, {});
    got.push_back(*index);
  }
  return got;
}

}  // namespace

TEST_CASE("worker pool: workers get closures in turn, up to what they run, then up to their window") {
  WorkerPool pool = ready_workers(3, 2);
  CHECK(give_all(pool, Share::kWhatRuns) == std::vector<std::size_t>{0, 1, 2});
  CHECK(give_all(pool, Share::kWindow, 4) == std::vector<std::size_t>{0, 1, 2});
  CHECK(pool.take_back(1, 2));
  CHECK_FALSE(pool.take_back(1, 2));
  CHECK(pool.take_turn(Share::kWindow, false) == 1);
  CHECK_FALSE(pool.take_turn(Share::kWhatRuns, false));  // it still holds another one
}

TEST_CASE("worker pool: who is away, loading or paused gets nothing") {
  WorkerPool pool = ready_workers(3, 2);
  take_down(pool, 0);
  pool.up(0, 2, true, {});
  CHECK(pool.server_trouble(1, pool[1].generation(), {}));
  CHECK(pool.take_turn(Share::kWindow, false) == 2);
  take_down(pool, 2);
  CHECK_FALSE(pool.take_turn(Share::kWindow, false));
  CHECK(pool.resume(1, pool[1].generation()));
  CHECK(pool.take_turn(Share::kWindow, false) == 1);
}

TEST_CASE("worker pool: what runs alone goes to a worker that holds nothing, which gets no more") {
  WorkerPool pool = ready_workers(2, 8);
  pool.give(0, 1, false, {});
  CHECK(pool.take_turn(Share::kWindow, true) == 1);
  pool.give(1, 2, true, {});
  CHECK_FALSE(pool.take_turn(Share::kWindow, true));
  CHECK(pool.take_turn(Share::kWindow, false) == 0);
  CHECK(pool.take_turn(Share::kWindow, false) == 0);  // worker:1 has company only when it is done
  CHECK(pool.take_back(1, 2));
  CHECK(pool.take_turn(Share::kWindow, false) == 1);
}

TEST_CASE("worker pool: a lost worker's closures come back in their order, and its generation goes on") {
  WorkerPool pool = ready_workers(1, 8);
  for (const ClosureId id : {30, 10, 20}) pool.give(0, id, false, {});
  CHECK(pool.take_all(0) == std::vector<ClosureId>{10, 20, 30});
  CHECK(pool[0].held().empty());
  const auto generation = pool[0].generation();
  pool.end_all();
  CHECK(pool[0].generation() == generation + 1);
}

TEST_CASE("worker pool: lists of workers are compared by word") {
  WorkerList some, others;
  CHECK(some.is_within(others));
  for (const std::size_t index : {3, 70, 200}) some.set(index, true);
  CHECK_FALSE(some.is_within(others));  // which has no words yet
  for (const std::size_t index : {3, 70, 71}) others.set(index, true);
  CHECK(some.find_without(others, 0) == 200);
  CHECK(some.find_without(WorkerList(), 4) == 70);
  CHECK_FALSE(some.find_without(others, 201));
  others.set(200, true);
  CHECK(some.is_within(others));
  CHECK(some.contains(70));
  CHECK_FALSE(some.contains(71));
  CHECK_FALSE(some.contains(7000));
  CHECK(some.size() == 3);
}

TEST_CASE("worker pool: what is known of all workers is what a look at every one would say") {
  constexpr std::size_t kCount = 70;
  std::mt19937 random(7);
  WorkerPool pool;
  for (std::size_t i = 0; i < kCount; ++i) pool.add(fmt::format("worker:{}", i), Window(64));
  for (int step = 0; step < 5000; ++step) {
    const std::size_t index = random() % kCount;
    const Worker& worker = pool[index];
    const auto generation = worker.generation();
    switch (random() % 8) {
      case 0:
        take_down(pool, index);
        break;
      case 1:
        pool.up(index, 1, random() % 2 == 0, {});
        break;
      case 2:
        pool.load_failed(index, generation, {Code::kUnavailable, "it failed", {}}, {});
        break;
      case 3:
        pool.server_trouble(index, generation, {});
        break;
      case 4:
        pool.resume(index, generation);
        break;
      case 5:
        if (worker.state() == WorkerState::kLoading && worker.replicas() == 0) {
          const int replicas = 1 + static_cast<int>(random() % 2);
          std::optional<std::string> other;
          for (std::size_t i = 0; i < kCount && !other; ++i)
            if (pool[i].replicas() > 0 && pool[i].replicas() != replicas) other = pool[i].name();
          const auto mismatch = pool.replicas_known(index, generation, replicas, 0);
          REQUIRE(mismatch.has_value() == other.has_value());
          if (mismatch) REQUIRE(mismatch->error.message.starts_with(*other + " has"));
        }
        break;
      case 6:
        pool.ready(index, generation, Window(64), {});
        break;
      default:
        pool.answered(index, false, std::chrono::microseconds(random() % 20000), {});
    }
    std::map<WorkerState, std::size_t> counts;
    std::size_t windows = 0;
    bool are_known = true;
    for (std::size_t i = 0; i < kCount; ++i) {
      ++counts[pool[i].state()];
      if (pool[i].is_ready()) windows += pool[i].window().size();
      are_known = are_known && !(pool[i].state() == WorkerState::kLoading && pool[i].replicas() == 0);
      REQUIRE(pool.ready().contains(i) == pool[i].is_ready());
      REQUIRE(pool.able().contains(i) == (pool[i].is_ready() && !pool[i].is_paused()));
    }
    for (const auto state : {WorkerState::kAway, WorkerState::kWaiting, WorkerState::kLoading, WorkerState::kReady})
      REQUIRE(pool.count(state) == counts[state]);
    REQUIRE(pool.windows() == windows);
    REQUIRE(pool.are_replicas_known() == are_known);
  }
}

TEST_CASE("worker pool: the lists say what a look at every worker would say") {
  constexpr std::size_t kCount = 130;  // more than two words of the list
  std::mt19937 random(7);
  WorkerPool pool = ready_workers(kCount, 3);
  ClosureId next = 1;
  for (int step = 0; step < 20000; ++step) {
    const std::size_t index = random() % kCount;
    switch (random() % 5) {
      case 0:
        if (pool[index].is_ready() && random() % 4 == 0)
          take_down(pool, index);
        else if (pool[index].state() == WorkerState::kAway)
          bring_up(pool, index, Window(3));
        break;
      case 1:
        if (random() % 4 == 0)
          pool.server_trouble(index, pool[index].generation(), {});
        else
          pool.resume(index, pool[index].generation());
        break;
      case 2:
        if (!pool[index].held().empty()) pool.take_back(index, *pool[index].held().begin());
        break;
      default: {
        const Share share = random() % 2 == 0 ? Share::kWindow : Share::kWhatRuns;
        std::set<std::size_t> able;
        for (std::size_t i = 0; i < kCount; ++i) {
          const Worker& worker = pool[i];
          const std::size_t most = share == Share::kWindow ? worker.window().size() : worker.window().at_once();
          if (worker.is_ready() && !worker.is_paused() && worker.held().size() < most) able.insert(i);
        }
        const auto turn = pool.take_turn(share, false);
        REQUIRE(turn.has_value() == !able.empty());
        if (!turn) break;
        REQUIRE(able.contains(*turn));
        pool.give(*turn, next++, false, {});
      }
    }
  }
}

}  // namespace tfd::coordinator
