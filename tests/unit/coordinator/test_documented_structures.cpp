// SPDX-License-Identifier: Apache-2.0
//
// More of the sentences of ClusterCoordinator's page that promise something (test_documented.cpp has the others): what
// may be fetched at once, where functions are executed, what several errors come to.
#include <array>
#include <future>
#include <mutex>
#include <set>
#include <thread>

#include "asking.hpp"
#include "tfd/coordinator/fetch.hpp"

using namespace tfd;
using namespace tfd::bed;
using namespace tfd::coordinator;

namespace {

std::int32_t number_in(const task::ClosureOutcome& outcome) { return bed::number(outcome.results.at(0)); }

}  // namespace

// --- fetch

TEST_CASE("documented: fetch returns the values of any structure of remote values with the same structure") {
  Bed bed;
  const auto coordinator = bed.connect();
  const auto twice = [&](std::int32_t x) { return schedule(*coordinator, "double", {bed::number(x)}); };
  const std::map<std::string, std::vector<RemoteValue>> lists{{"few", {twice(1)}}, {"more", {twice(2), twice(3)}}};
  const auto [named, pair, maybe, none, two] =
      good(coordinator::fetch(std::tuple(lists, std::pair(twice(4), twice(5)), std::optional(twice(6)),
                                         std::optional<RemoteValue>{}, std::array{twice(7), twice(8)}),
                              soon()));
  REQUIRE(named.at("few").size() == 1);
  REQUIRE(named.at("more").size() == 2);
  CHECK(number_in(named.at("few")[0]) == 2);
  CHECK(number_in(named.at("more")[0]) == 4);
  CHECK(number_in(named.at("more")[1]) == 6);
  CHECK(number_in(pair.first) == 8);
  CHECK(number_in(pair.second) == 10);
  REQUIRE(maybe);
  CHECK(number_in(*maybe) == 12);
  CHECK_FALSE(none);
  CHECK(number_in(two[0]) == 14);
  CHECK(number_in(two[1]) == 16);
}

TEST_CASE("documented: if the value is of another type, fetch returns it as it is") {
  Bed bed;
  const auto coordinator = bed.connect();
  CHECK(good(coordinator::fetch(3, soon())) == 3);
  CHECK(good(coordinator::fetch(std::string("text"), soon())) == "text");
  const auto [text, numbers, value] = good(coordinator::fetch(
      std::tuple(std::string("text"), std::vector{1.5, 2.5}, schedule(*coordinator, "double", {bed::number(4)})),
      soon()));
  CHECK(text == "text");
  CHECK(numbers == std::vector{1.5, 2.5});
  CHECK(number_in(value) == 8);
}

TEST_CASE("documented: fetch returns values immediately if they are available, or blocks until they are") {
  Bed bed(1);
  const auto coordinator = bed.connect();
  bed.gate.close();
  const auto structure = std::pair(std::string("a"), std::vector{schedule(*coordinator, "gated", {bed::number(1)})});
  auto fetched = std::async(std::launch::async, [&] { return coordinator::fetch(structure, soon()).has_value(); });
  CHECK(fetched.wait_for(50ms) == std::future_status::timeout);
  CHECK(coordinator::fetch(structure, Deadline::after(1ms)).error().code == Code::kDeadlineExceeded);
  bed.gate.open();
  CHECK(fetched.get());
  good(
      coordinator::fetch(structure, Deadline::after(0ms)));  // there already: not even a deadline that has passed hurts
}

TEST_CASE("documented: fetch of a structure raises the error of a function in it") {
  Bed bed(1);
  const auto coordinator = bed.connect();
  const auto good_one = schedule(*coordinator, "double", {bed::number(1)});
  const auto bad = schedule(*coordinator, "fail", {bed::number(5)});
  const auto fetched =
      coordinator::fetch(std::map<int, std::pair<RemoteValue, RemoteValue>>{{1, {good_one, bad}}}, soon());
  REQUIRE_FALSE(fetched);
  CHECK(fetched.error().code == Code::kInvalidArgument);
  CHECK(fetched.error().message.find("bad 5") != std::string::npos);
  CHECK_FALSE(coordinator->join(soon()));
}

// --- create_per_worker_dataset

TEST_CASE("documented: create_per_worker_dataset places an iterator on every worker, and returns all of them") {
  Bed bed(3);
  const auto coordinator = bed.connect();
  const auto dataset = good(coordinator->create_per_worker_dataset("ten", soon()));
  const auto iterators = good(coordinator->values_on_workers(dataset.id));
  REQUIRE(iterators.size() == 3);
  for (const RemoteValue& iterator : iterators) CHECK(iterator.state() == ClosureState::kReady);
  bed.kill("worker:1");
  until([&] { return iterators[1].state() == ClosureState::kAborted; });
  CHECK(iterators[0].state() == ClosureState::kReady);
  CHECK(iterators[2].state() == ClosureState::kReady);
  bed.start("worker:1");
  until([&] { return iterators[1].state() == ClosureState::kReady; });  // re-built
}

TEST_CASE("documented: datasets of workers may be shuffled differently if no seed is set") {
  std::string numbers = "0";
  for (int i = 1; i < 30; ++i) numbers += ", " + std::to_string(i);
  const auto program = make_program(
      {R"(datasets.ten=[{"tensor_slices": {"fields": {"x": [)" + numbers + R"(]}}}, {"shuffle": {"buffer": 30}}])"});
  std::set<std::vector<std::int32_t>> orders;
  for (const char* other : {"worker:0", "worker:1"}) {
    Bed bed(2);
    const auto coordinator = bed.connect(program, bed.options());
    const auto iterator = good(coordinator->create_per_worker_dataset("ten", soon()));
    bed.kill(other);
    until([&] { return coordinator->workers_up() == 1; });
    std::vector<std::int32_t> order;
    for (int i = 0; i < 30; ++i) order.push_back(fetch(schedule(*coordinator, "next", {iterator})));
    orders.insert(order);
  }
  CHECK(orders.size() == 2);  // alike by chance: once in 30! times
}

// --- where functions are executed

TEST_CASE("documented: a function whose worker becomes unavailable is migrated to another worker") {
  Bed bed(2);
  const auto coordinator = bed.connect();
  bed.gate.close();
  std::mutex mutex;
  std::string left;
  const auto on_moved = [&](const std::string& task, const std::string&) {
    const std::scoped_lock lock(mutex);
    left = task;
  };
  const auto moved_from = [&] {
    const std::scoped_lock lock(mutex);
    return left;
  };
  const RemoteValue value =
      good(coordinator->schedule({.function = "gated", .args = {bed::number(5)}, .on_moved = on_moved}, soon()));
  bed.gate.wait_for(1);
  bed.kill("worker:0");
  until([&] { return coordinator->workers_up() == 1; });
  // The callback with the lost worker's name comes soon after the loss.
  for (const Deadline told = Deadline::after(std::chrono::seconds(1)); moved_from().empty() && !told.expired();)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  if (moved_from().empty()) {  // it was the other one's
    bed.start("worker:0");
    until([&] { return coordinator->workers_up() == 2; });
    bed.kill("worker:1");
    until([&] { return moved_from() == "worker:1"; });
    CHECK(coordinator->workers_up() == 1);
  } else {
    CHECK(moved_from() == "worker:0");
  }
  bed.gate.wait_for(2);  // the one that is left runs it, the dead one's still waits
  bed.gate.open();
  good(value.fetch(soon()));
  CHECK(read(*coordinator, "v") == 5);
}

TEST_CASE("documented: upon recovery of a failed worker it is added for function execution") {
  Bed bed(2);
  const auto coordinator = bed.connect();
  bed.kill("worker:1");
  until([&] { return coordinator->workers_up() == 1; });
  for (int i = 0; i < 10; ++i) schedule(*coordinator, "add", {bed::number(1)});
  good(coordinator->join(soon()));
  bed.start("worker:1");
  until([&] { return coordinator->workers_up() == 2; });
  bed.gate.close();
  schedule(*coordinator, "gated", {bed::number(1)});
  schedule(*coordinator, "gated", {bed::number(1)});
  bed.gate.wait_for(2);  // at the same time, so both are at work
  bed.gate.open();
  good(coordinator->join(soon()));
  CHECK(read(*coordinator, "v") == 12);
}

TEST_CASE("documented: a function can be executed on any available worker, so none waits behind a busy one") {
  Bed bed(2);
  const auto coordinator = bed.connect();
  bed.gate.close();
  const RemoteValue busy = schedule(*coordinator, "gated", {bed::number(1)});
  bed.gate.wait_for(1);
  for (int i = 0; i < 10; ++i) CHECK(fetch(schedule(*coordinator, "double", {bed::number(i)})) == 2 * i);
  CHECK(busy.state() == ClosureState::kNotReady);
  bed.gate.open();
  good(busy.fetch(soon()));
}

// --- arguments and errors

TEST_CASE("documented: args and kwargs can be per-worker values, and are the component of the worker") {
  Bed bed(1);
  const auto program = make_program(
      {R"(functions.by_name={"module": "pair.mlir", "inputs": [{"kwarg": "it", "field": "x"}, {"arg": 0}], "outputs": [{"result": 0}, {"result": 1}]})"});
  const auto coordinator = bed.connect(program, bed.options());
  const auto iterator = good(coordinator->create_per_worker_dataset("ten", soon()));
  for (int i = 0; i < 3; ++i) {
    const auto value = good(coordinator->schedule(
        {.function = "by_name", .args = {PerWorkerVariable{"own"}}, .kwargs = {{"it", iterator}}}, soon()));
    const auto outcome = good(value.fetch(soon()));
    CHECK(bed::number(outcome.results.at(0)) == 100);  // pair turns them round
    CHECK(bed::number(outcome.results.at(1)) == i);
  }
}

TEST_CASE("documented: of several errors join raises one, and clears all that were collected") {
  Bed bed(3);
  const auto coordinator = bed.connect(make_program(), one_at_a_time(bed));
  bed.gate.close();
  for (int worker = 0; worker < 3; ++worker) schedule(*coordinator, "gated", {bed::number(0)});
  bed.gate.wait_for(3);  // so that both are queued before one of them fails
  std::vector<RemoteValue> failing;
  for (int i = 1; i <= 2; ++i) failing.push_back(schedule(*coordinator, "fail", {bed::number(i)}));
  for (const RemoteValue& value : failing) REQUIRE(value.state() == ClosureState::kNotReady);
  bed.gate.let_one_pass();
  bed.gate.let_one_pass();
  until([&] { return failing[0].state() != ClosureState::kNotReady || failing[1].state() != ClosureState::kNotReady; });
  auto joined = std::async(std::launch::async, [&] { return coordinator->join(soon()); });
  CHECK(joined.wait_for(50ms) == std::future_status::timeout);
  bed.gate.open();
  const auto raised = joined.get();
  REQUIRE_FALSE(raised);
  const std::string& text = raised.error().message;
  CHECK((text.find("bad 1") != std::string::npos) != (text.find("bad 2") != std::string::npos));
  // Both have ended, neither by succeeding; nothing is left to be raised.
  for (const RemoteValue& value : failing) CHECK_FALSE(value.fetch(soon()));
  CHECK(good(coordinator->done()));
  good(coordinator->join(soon()));
  CHECK(fetch(schedule(*coordinator, "double", {bed::number(2)})) == 4);
}

TEST_CASE("documented: at least one worker and one parameter server are needed, and roles that there are") {
  Bed bed(1, 1);
  const auto refuses = [&](const std::vector<const char*>& jobs) {
    cluster::ClusterConfig config;
    for (const char* job : jobs) config.cluster.add_task(job, 0, std::string(job) + "0:1");
    const auto connected = ClusterCoordinator::connect(make_program(), config, bed.options());
    REQUIRE_FALSE(connected);
    CHECK(connected.error().code == Code::kInvalidArgument);
    return connected.error().message;
  };
  CHECK(refuses({"worker"}).find("no ps") != std::string::npos);
  CHECK(refuses({"ps"}).find("no worker") != std::string::npos);
  CHECK(refuses({"worker", "ps", "tpu_worker"}).find("tpu_worker") != std::string::npos);
  CHECK(refuses({}).find("empty") != std::string::npos);
}
