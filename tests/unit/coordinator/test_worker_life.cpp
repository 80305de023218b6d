// SPDX-License-Identifier: Apache-2.0
//
// The life of workers: coming up, loading, failing, joining and leaving, without workers or a network.
#include <doctest/doctest.h>

#include "ready_workers.hpp"
#include "workers/worker_pool.hpp"

namespace tfd::coordinator {
namespace {

using namespace std::chrono_literals;

constexpr Clock::time_point kInstant{1h};
constexpr transport::Incarnation kFirst = 1, kSecond = 2;  // processes

WorkerPool make_workers(std::size_t count) {
  WorkerPool workers;
  for (std::size_t i = 0; i < count; ++i) workers.add(fmt::format("worker:{}", i), Window(4));
  return workers;
}

/// A worker that is loading; its generation.
std::uint64_t begin_loading(WorkerPool& workers, std::size_t index, transport::Incarnation incarnation = kFirst) {
  return workers.up(index, incarnation, true, kInstant).value();
}

Error because(Code code, const std::string& message = "it failed") { return {code, message, {}}; }

}  // namespace

TEST_CASE("worker life: a worker that comes up loads the program, has it, and is ready") {
  WorkerPool workers = make_workers(1);
  const Worker& worker = workers[0];
  CHECK(worker.state() == WorkerState::kAway);
  const std::uint64_t generation = begin_loading(workers, 0);
  CHECK(worker.state() == WorkerState::kLoading);
  CHECK(workers.is_loading_program(0, generation));
  CHECK_FALSE(workers.up(0, kFirst, true, kInstant));  // it is loading already
  CHECK(workers.occupied(0, generation, "still running 'f'"));
  CHECK(worker.occupied() == "still running 'f'");
  CHECK(workers.program_loaded(0, generation));
  CHECK(worker.has_program());
  CHECK(worker.occupied().empty());
  CHECK_FALSE(workers.is_loading_program(0, generation));
  CHECK_FALSE(workers.any_was_ready());
  const auto ready = workers.ready(0, generation, Window(16), kInstant + 1s);
  REQUIRE(ready);
  CHECK_FALSE(ready->is_back);
  CHECK(worker.since() == kInstant + 1s);
  CHECK(workers.any_was_ready());
  CHECK(workers.ready_ones() == std::vector{std::pair<std::size_t, std::uint64_t>(0, generation)});
  CHECK_FALSE(workers.ready(0, generation, Window(1), kInstant));  // it is ready already
  CHECK(worker.window().size() == 8);
}

TEST_CASE("worker life: a worker that is up before the parameter servers waits for them") {
  WorkerPool workers = make_workers(1);
  CHECK_FALSE(workers.up(0, kFirst, false, kInstant));
  CHECK(workers[0].state() == WorkerState::kWaiting);
  CHECK_FALSE(workers.up(0, kFirst, false, kInstant));
  CHECK(workers.up(0, kFirst, true, kInstant));
  CHECK(workers[0].state() == WorkerState::kLoading);
}

TEST_CASE("worker life: another process at its address shows a loss that no event has told of") {
  WorkerPool workers = make_workers(1);
  CHECK_FALSE(workers.was_replaced(0, kFirst));  // it is away
  bring_up(workers, 0, Window(4), kInstant, kFirst);
  CHECK_FALSE(workers.was_replaced(0, kFirst));
  CHECK(workers.was_replaced(0, kSecond));
  CHECK_FALSE(workers.up(0, kSecond, true, kInstant));
  take_down(workers, 0, kInstant);
  CHECK_FALSE(workers.was_replaced(0, kSecond));
  CHECK(workers.up(0, kSecond, true, kInstant));
}

TEST_CASE("worker life: answers to what a worker was asked before it was lost do nothing") {
  WorkerPool workers = make_workers(2);
  const std::uint64_t before = begin_loading(workers, 0);
  REQUIRE(workers.lose(0, before, "it is gone", false, kInstant));
  CHECK_FALSE(workers.lose(0, std::nullopt, "it is gone", false, kInstant));  // it is away
  const std::uint64_t after = begin_loading(workers, 0);
  CHECK_FALSE(workers.lose(0, before, "it is gone", false, kInstant));
  CHECK_FALSE(workers.program_loaded(0, before));
  CHECK_FALSE(workers.occupied(0, before, "busy"));
  CHECK_FALSE(workers.replicas_known(0, before, 8, 0));
  CHECK(workers.replicas() == 1);
  CHECK_FALSE(workers.load_failed(0, before, because(Code::kInternal), kInstant));
  CHECK_FALSE(workers.any_unusable());
  CHECK_FALSE(workers.created(0, before));
  CHECK_FALSE(workers.may_create(0, before));
  CHECK_FALSE(workers.ready(0, before, Window(4), kInstant));
  CHECK(workers[0].state() == WorkerState::kLoading);
  workers.ready(0, after, Window(4), kInstant);
  CHECK_FALSE(workers.server_trouble(0, before, kInstant));
  CHECK(workers.server_trouble(0, after, kInstant));
  CHECK_FALSE(workers.resume(0, before));
  CHECK(workers[0].is_paused());
  workers.asked_back(0);
  workers.gave_back(0, before);
  CHECK(workers[0].gives_back());
  workers.ignore_answers();
  CHECK_FALSE(workers.lose(0, after, "it is gone", false, kInstant));
}

TEST_CASE("worker life: a loss says whether the worker was used, and it begins anew, also in its data") {
  WorkerPool workers = make_workers(1);
  const Worker& worker = workers[0];
  const std::uint64_t generation = begin_loading(workers, 0);
  workers.replicas_known(0, generation, 2, 0);
  auto lost = workers.lose(0, generation, "it is gone", false, kInstant);
  REQUIRE(lost);
  CHECK_FALSE(lost->was_ready);
  CHECK(worker.data() == DataProgress{});  // it never had the program
  bring_up(workers, 0, Window(4), kInstant);
  workers.answered(0, true, {}, kInstant);
  CHECK(worker.data() == DataProgress{1, 0});
  const std::uint64_t stream = worker.shuffle_stream();
  workers.creates(0);
  workers.asked_back(0);
  lost = workers.lose(0, std::nullopt, "the connection broke", false, kInstant + 1s);
  REQUIRE(lost);
  CHECK(lost->was_ready);
  CHECK(lost->pause == WorkerPool::kReconnectPause);
  CHECK(worker.state() == WorkerState::kAway);
  CHECK(worker.since() == kInstant + 1s);
  CHECK(worker.reason() == "the connection broke");
  CHECK(worker.replicas() == 0);
  CHECK_FALSE(worker.has_program());
  CHECK_FALSE(worker.gives_back());
  CHECK(worker.was_ready());
  CHECK(worker.data() == DataProgress{0, 1});
  CHECK(worker.shuffle_stream() != stream);
  const std::uint64_t after = begin_loading(workers, 0);
  CHECK(workers.may_create(0, after));
  CHECK(workers.ready(0, after, Window(4), kInstant)->is_back);
}

TEST_CASE("worker life: a worker creates one iterator at a time, and runs nothing meanwhile") {
  WorkerPool workers = make_workers(1);
  bring_up(workers, 0, Window(4), kInstant);
  const std::uint64_t generation = workers[0].generation();
  CHECK(workers.room_at(0) == 1);
  CHECK(workers.may_create(0, generation));
  workers.creates(0);
  CHECK_FALSE(workers.may_create(0, generation));
  CHECK(workers.room_at(0) == 0);
  CHECK(workers.created(0, generation));
  CHECK(workers.may_create(0, generation));
  CHECK(workers.room_at(0) == 1);
}

TEST_CASE("worker life: all workers need the same number of replicas, which is also that of variables with copies") {
  WorkerPool workers = make_workers(3);
  std::vector<std::uint64_t> generations;
  for (std::size_t i = 0; i < 3; ++i) generations.push_back(begin_loading(workers, i));
  CHECK_FALSE(workers.are_replicas_known());
  CHECK_FALSE(workers.replicas_known(0, generations[0], 2, 2));
  CHECK(workers.replicas() == 2);
  auto mismatch = workers.replicas_known(1, generations[1], 4, 0);
  REQUIRE(mismatch);
  CHECK(mismatch->is_fatal);
  CHECK(mismatch->error.task == "worker:1");
  CHECK(mismatch->error.message ==
        "worker:0 has 2 devices and worker:1 has 4 devices: all workers need the same number of devices (tfd-serve "
        "--devices)");
  CHECK(workers[1].replicas() == 0);  // nobody is compared with it
  mismatch = workers.replicas_known(2, generations[2], 1, 2);
  REQUIRE(mismatch);
  CHECK(mismatch->error.message ==
        "worker:2 has 1 device, but variables that are synchronized on read were created for 2: all workers need the "
        "same number (tfd-serve --devices)");
  CHECK_FALSE(workers.are_replicas_known());
  for (const std::size_t i : {1, 2}) CHECK_FALSE(workers.replicas_known(i, generations[i], 2, 2));
  CHECK(workers.are_replicas_known());
}

TEST_CASE("worker life: a mismatch is fatal only at the beginning, not of a worker that returns or joins later") {
  WorkerPool workers = make_workers(2);
  for (const std::size_t i : {0, 1}) {
    const std::uint64_t generation = begin_loading(workers, i);
    workers.replicas_known(i, generation, 2, 0);
    workers.ready(i, generation, Window(4), kInstant);
  }
  take_down(workers, 0, kInstant);
  const auto returned = workers.replicas_known(0, begin_loading(workers, 0), 3, 0);
  REQUIRE(returned);
  CHECK_FALSE(returned->is_fatal);
  const std::size_t joined = workers.join("worker:2", Window(4));
  CHECK(joined == 2);
  const auto wrong = workers.replicas_known(joined, begin_loading(workers, joined), 3, 0);
  REQUIRE(wrong);
  CHECK_FALSE(wrong->is_fatal);
}

TEST_CASE("worker life: after a failure a worker is tried again, twice as late each time, until it has answered") {
  WorkerPool workers = make_workers(1);
  const auto fail_again = [&](Code code) {
    return workers.load_failed(0, begin_loading(workers, 0), because(code), kInstant).value();
  };
  CHECK(fail_again(Code::kUnavailable).pause == 1s);
  CHECK(workers[0].reason() == "it failed");
  CHECK(fail_again(Code::kUnavailable).may_pass);
  CHECK_FALSE(workers.any_unusable());
  const auto retry = fail_again(Code::kInvalidArgument);
  CHECK(retry.pause == 4s);
  CHECK_FALSE(retry.may_pass);
  CHECK(workers.any_unusable());
  CHECK(workers[0].load_error()->task == "worker:0");
  for (int i = 0; i < 10; ++i) fail_again(Code::kCancelled);
  CHECK(fail_again(Code::kDeadlineExceeded).pause == 30s);
  bring_up(workers, 0, Window(4), kInstant);
  CHECK_FALSE(workers[0].load_error());
  CHECK(workers.lose(0, std::nullopt, "it can't reach ps:0", true, kInstant)->pause == 30s);  // it can't work
  bring_up(workers, 0, Window(4), kInstant);
  workers.answered(0, false, {}, kInstant);
  CHECK(workers.lose(0, std::nullopt, "it can't reach ps:0", true, kInstant)->pause == 1s);
}

TEST_CASE("worker life: a worker that can't reach a parameter server for long is the cause, unless it answered since") {
  WorkerPool workers = make_workers(1);
  bring_up(workers, 0, Window(4), kInstant);
  const std::uint64_t generation = workers[0].generation();
  CHECK(workers.server_trouble(0, generation, kInstant));
  CHECK_FALSE(workers.server_trouble(0, generation, kInstant));  // it is being checked
  CHECK(workers.resume(0, generation));
  CHECK(workers.server_trouble(0, generation, kInstant + 10s));
  CHECK_FALSE(workers.is_its_own_trouble(0, generation, kInstant + 15s));
  CHECK(workers.is_its_own_trouble(0, generation, kInstant + 16s));
  CHECK_FALSE(workers.is_its_own_trouble(0, generation + 1, kInstant + 16s));
  workers.resume(0, generation);
  workers.heard_from(0, kInstant + 17s);  // it returned a closure, which says nothing of the server
  CHECK(workers.server_trouble(0, generation, kInstant + 18s));
  CHECK(workers.is_its_own_trouble(0, generation, kInstant + 18s));
  workers.resume(0, generation);
  workers.evaluated(0, kInstant + 19s);
  CHECK(workers.server_trouble(0, generation, kInstant + 20s));
  CHECK_FALSE(workers.is_its_own_trouble(0, generation, kInstant + 35s));
}

TEST_CASE("worker life: errors count until a worker is ready, the first with how many have the same") {
  WorkerPool workers = make_workers(3);
  const auto cannot = [&](std::size_t index, const std::string& message) {
    workers.load_failed(index, begin_loading(workers, index), because(Code::kInvalidArgument, message), kInstant);
  };
  cannot(2, "worker:2 has no memory");
  cannot(0, "worker:0 has no memory");
  workers.refused("worker:1", {Code::kInvalidArgument, "worker:1 is another version", "worker:1"}, kInstant);
  CHECK(workers.describe_unusable().message == "worker:2 has no memory (2 of 3 workers)");
  begin_loading(workers, 2);
  CHECK(workers.describe_unusable().task == "worker:2");  // the same process
  take_down(workers, 2, kInstant);
  begin_loading(workers, 2, kSecond);
  CHECK(workers.describe_unusable().task == "worker:0");
  workers.ready(2, workers[2].generation(), Window(4), kInstant);
  workers.refused("worker:2", because(Code::kInternal, "late"), kInstant);
  CHECK_FALSE(workers[2].load_error());
}

TEST_CASE("worker life: nobody is left once those that are up can't be used, and the others had a moment to come") {
  WorkerPool workers = make_workers(3);
  const auto are_all_unusable = [&](Clock::time_point now, bool is_third_up = false) {
    return workers.are_all_unusable(now, [&](const Worker& worker) { return &worker == &workers[2] && is_third_up; });
  };
  CHECK_FALSE(are_all_unusable(kInstant + 1h));  // nobody was there yet
  workers.load_failed(0, begin_loading(workers, 0), because(Code::kInvalidArgument), kInstant);
  workers.up(1, kFirst, false, kInstant);
  CHECK_FALSE(are_all_unusable(kInstant + 1h));  // worker:1 waits for the parameter servers
  workers.load_failed(1, begin_loading(workers, 1), because(Code::kInvalidArgument), kInstant);
  CHECK_FALSE(are_all_unusable(kInstant + 1s));
  CHECK_FALSE(are_all_unusable(kInstant + 2s, true));
  CHECK(are_all_unusable(kInstant + 2s));
  workers.leave(2);
  CHECK(are_all_unusable(kInstant));
}

TEST_CASE("worker life: steps of unknown workers are shared equally") {
  WorkerPool workers;
  workers.add("worker:0", Window(4), "host0:1", {5, 1});
  for (int i = 1; i < 3; ++i) workers.add(fmt::format("worker:{}", i), Window(4));
  workers.share_steps(5);
  CHECK(workers[0].data() == DataProgress{7, 1});
  CHECK(workers[1].data() == DataProgress{2, 0});
  CHECK(workers[2].data() == DataProgress{1, 0});
}

TEST_CASE("worker life: a newer spec moves workers, and they leave and join, also those that had left") {
  WorkerPool workers;
  for (int i = 0; i < 4; ++i) workers.add(fmt::format("worker:{}", i), Window(2), fmt::format("host{}:1", i));
  workers.leave(3);
  CHECK_FALSE(workers.find_member("worker:3"));
  CHECK_FALSE(workers.up(3, kFirst, true, kInstant));
  const auto same =
      compare_members(workers, {{"worker:0", "host0:1"}, {"worker:1", "host1:1"}, {"worker:2", "host2:1"}});
  CHECK(same.moved.empty());
  CHECK(same.left.empty());
  CHECK(same.joined.empty());
  const auto changed = compare_members(
      workers, {{"worker:0", "host0:1"}, {"worker:2", "host2:9"}, {"worker:3", "host3:1"}, {"worker:10", "host10:1"}});
  CHECK(changed.moved == std::vector<std::size_t>{2});
  CHECK(changed.left == std::vector<std::size_t>{1});
  CHECK(changed.joined == std::vector<std::string>{"worker:10", "worker:3"});
  CHECK(workers.join("worker:10", Window(2)) == 4);
  CHECK(workers.join("worker:3", Window(2)) == 3);
  workers.move_to(3, "host3:2", kInstant);
  CHECK(workers.find_member("worker:3") == 3);
  CHECK(workers[3].address() == "host3:2");
  CHECK(workers[3].since() == kInstant);
}

}  // namespace tfd::coordinator
