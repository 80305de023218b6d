// SPDX-License-Identifier: Apache-2.0
//
// Every sentence of the page of tf.distribute.coordinator.ClusterCoordinator that promises something, one test each,
// named after it, in the order of the page; more of them are in test_documented_structures.cpp. As JSON lines:
// test_closures.cpp.
#include <algorithm>
#include <future>
#include <set>
#include <type_traits>

#include "asking.hpp"

using namespace tfd;
using namespace tfd::bed;
using namespace tfd::coordinator;

// --- the class

TEST_CASE("documented: schedule queues a function and returns a RemoteValue immediately") {
  Bed bed(1);
  const auto coordinator = bed.connect();
  bed.gate.close();
  const RemoteValue value = schedule(*coordinator, "gated", {number(1)});
  CHECK(value.state() == ClosureState::kNotReady);
  bed.gate.open();
  good(coordinator->join(soon()));
  CHECK(value.state() == ClosureState::kReady);
}

TEST_CASE("documented: queued functions are dispatched in the background and their values filled asynchronously") {
  Bed bed;
  const auto coordinator = bed.connect();
  const RemoteValue value = schedule(*coordinator, "double", {number(4)});
  until([&] { return value.state() == ClosureState::kReady; });  // without join, done or fetch
  CHECK(number(value.outcome().results.at(0)) == 8);
}

TEST_CASE("documented: a function can be executed on any available worker") {
  Bed bed(3);
  const auto coordinator = bed.connect();
  bed.gate.close();
  for (int i = 0; i < 3; ++i) schedule(*coordinator, "gated", {number(1)});
  bed.gate.wait_for(3);  // each on a worker of its own, for a worker runs one at a time
  bed.gate.open();
  good(coordinator->join(soon()));
}

TEST_CASE("documented: a function whose worker becomes unavailable before its completion is migrated") {
  Bed bed(1);
  const auto coordinator = bed.connect();
  bed.gate.close();
  const RemoteValue value = schedule(*coordinator, "gated", {number(5)});
  bed.gate.wait_for(1);
  bed.kill("worker:0");
  bed.start("worker:0");
  bed.gate.wait_for(2);  // the dead one's, and the same function again
  bed.gate.open();
  good(value.fetch(soon()));
  CHECK(read(*coordinator, "v") == 5);
}

TEST_CASE("documented: a function may be executed more than once, and its update is applied once") {
  Bed bed(1);
  const auto coordinator = bed.connect();
  for (int i = 1; i <= 3; ++i) {
    bed.gate.close();
    const RemoteValue value = schedule(*coordinator, "gated", {number(1)});
    bed.gate.wait_for(1);
    bed.kill("worker:0");
    bed.gate.open();  // the killed one's execution ends too, and reaches nobody
    bed.start("worker:0");
    good(value.fetch(soon()));
    CHECK(read(*coordinator, "v") == i);
  }
}

TEST_CASE("documented: while some workers are not available progress is made with the others") {
  Bed bed(3);
  const auto coordinator = bed.connect();
  bed.kill("worker:0");
  bed.kill("worker:2");
  for (int i = 0; i < 50; ++i) schedule(*coordinator, "add", {number(1)});
  good(coordinator->join(soon()));
  CHECK(read(*coordinator, "v") == 50);
}

TEST_CASE("documented: a worker that recovers is added after its datasets have been re-built on it") {
  Bed bed(1);
  const auto coordinator = bed.connect();
  const auto iterator = good(coordinator->create_per_worker_dataset("ten", soon()));
  for (int i = 0; i < 4; ++i) CHECK(fetch(schedule(*coordinator, "next", {iterator})) == i);
  bed.kill("worker:0");
  bed.start("worker:0");
  CHECK(fetch(schedule(*coordinator, "next", {iterator})) == 0);  // made anew, and from its beginning
}

TEST_CASE("documented: when a parameter server fails UNAVAILABLE is raised by schedule, join or done") {
  Bed bed;
  const auto coordinator = bed.connect();
  bed.kill("ps:1");
  until([&] { return coordinator->lost().has_value(); });
  const auto scheduled = coordinator->schedule({.function = "add", .args = {number(1)}}, soon());
  const auto joined = coordinator->join(soon());
  const auto done = coordinator->done();
  REQUIRE_FALSE(scheduled);
  REQUIRE_FALSE(joined);
  REQUIRE_FALSE(done);
  for (const Error& error : {scheduled.error(), joined.error(), done.error()}) {
    CHECK(error.code == Code::kUnavailable);
    CHECK(error.task == "ps:1");
  }
}

TEST_CASE(
    "documented: a new coordinator reconnects to a restarted parameter server, re-creates the variables and "
    "loads "
    "checkpoints") {
  Bed bed;
  tensor::NamedTensors state;
  {
    const auto coordinator = bed.connect();
    schedule(*coordinator, "add", {number(3)});
    good(coordinator->join(soon()));
    state = good(coordinator->export_state(soon()));
    bed.kill("ps:0");
    until([&] { return coordinator->lost().has_value(); });
  }
  bed.start("ps:0");
  const auto again = bed.connect();
  CHECK(read(*again, "v") == 0);
  good(again->import_state(state, soon()));
  schedule(*again, "add", {number(1)});
  good(again->join(soon()));
  CHECK(read(*again, "v") == 4);
}

TEST_CASE("documented: a coordinator that is brought back connects again and continues from a checkpoint") {
  Bed bed;
  tensor::NamedTensors state;
  {
    const auto coordinator = bed.connect();
    schedule(*coordinator, "add", {number(7)});
    good(coordinator->join(soon()));
    state = good(coordinator->export_state(soon()));
    bed.gate.close();
    schedule(*coordinator, "gated", {number(100)});
    bed.gate.wait_for(1);
  }  // gone, with a function in flight
  bed.gate.open();
  const auto coordinator = bed.connect();
  good(coordinator->import_state(state, soon()));
  schedule(*coordinator, "add", {number(1)});
  good(coordinator->join(soon()));
  CHECK(read(*coordinator, "v") == 8);
}

TEST_CASE("documented: after restoring, iterations tells how many steps have been made") {
  Bed bed;
  const auto coordinator = bed.connect();
  for (int i = 0; i < 5; ++i) schedule(*coordinator, "add", {number(1)});
  good(coordinator->join(soon()));
  const auto state = good(coordinator->export_state(soon()));
  good(coordinator->import_state(state, soon()));
  const auto again = good(coordinator->export_state(soon()));
  const auto iterations = std::ranges::find(again, ".iterations", &std::pair<std::string, Tensor>::first);
  REQUIRE(iterations != again.end());
  CHECK(iterations->second.as<std::int64_t>()[0] == 5);
}

TEST_CASE("documented: a cluster that isn't one of workers and parameter servers is a ValueError") {
  Bed bed(1);
  for (const char* job : {"chief", "evaluator"}) {
    cluster::ClusterConfig config;
    config.cluster.add_task(job, 0, "worker0:1");
    const auto refused = ClusterCoordinator::connect(make_program(), config, bed.options());
    REQUIRE_FALSE(refused);
    CHECK(refused.error().code == Code::kInvalidArgument);
  }
}

// --- create_per_worker_dataset

TEST_CASE("documented: create_per_worker_dataset makes the dataset on every worker, and returns one object for all") {
  Bed bed(2);
  auto coordinator = bed.connect(make_program(), one_at_a_time(bed));
  const PerWorkerDataset iterator = good(coordinator->create_per_worker_dataset("ten", soon()));
  // Twenty elements of ten: each worker has all ten, once.
  std::vector<std::int32_t> got;
  for (int i = 0; i < 20; ++i) {
    const auto value = schedule(*coordinator, "next", {iterator});
    const auto outcome = value.fetch(soon());
    if (outcome) got.push_back(number(outcome->results.at(0)));
    if (!outcome) (void)coordinator->join(soon());  // this worker's had ended
  }
  CHECK(got.size() >= 10);
  for (int i = 0; i < 10; ++i) {
    const auto count = std::ranges::count(got, i);
    CHECK(count >= 1);
    CHECK(count <= 2);
  }
}

TEST_CASE("documented: calling next on the iterators of all workers is unsupported") {
  const auto has_next = [](auto iterator) {
    return requires { iterator.next(); };
  };
  CHECK_FALSE(has_next(PerWorkerDataset{}));
}

TEST_CASE("documented: a function receives the individual iterator of the worker that executes it") {
  Bed bed(2);
  auto coordinator = bed.connect(make_program(), one_at_a_time(bed));
  const auto iterator = good(coordinator->create_per_worker_dataset("ten", soon()));
  bed.kill("worker:1");  // so that all are executed by the other
  until([&] { return coordinator->workers_up() == 1; });
  for (int i = 0; i < 10; ++i) CHECK(fetch(schedule(*coordinator, "next", {iterator})) == i);
}

TEST_CASE("documented: datasets of different workers are the same, but for a shuffle whose seed is not set") {
  const auto order_on = [](const std::string& shuffle) {
    std::vector<std::vector<std::int32_t>> orders;
    for (const char* other : {"worker:0", "worker:1"}) {  // what the worker that is left gets
      Bed bed(2);
      const auto program = make_program(
          {R"(datasets.ten=[{"tensor_slices": {"fields": {"x": [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]}}}, {"shuffle": )" +
           shuffle + "}]"});
      auto options = bed.options();
      options.same_shuffles = true;  // else those of a seed are each worker's own, too
      const auto coordinator = bed.connect(program, std::move(options));
      const auto iterator = good(coordinator->create_per_worker_dataset("ten", soon()));
      bed.kill(other);
      until([&] { return coordinator->workers_up() == 1; });
      orders.emplace_back();
      for (int i = 0; i < 10; ++i) orders.back().push_back(fetch(schedule(*coordinator, "next", {iterator})));
    }
    return orders;
  };
  const auto seeded = order_on(R"({"buffer": 10, "seed": 3})");
  CHECK(seeded[0] == seeded[1]);
  CHECK_FALSE(std::ranges::is_sorted(seeded[0]));
  auto unseeded = order_on(R"({"buffer": 10})");
  for (auto& order : unseeded) {
    std::ranges::sort(order);
    CHECK(order == std::vector<std::int32_t>{0, 1, 2, 3, 4, 5, 6, 7, 8, 9});  // the same elements, in any order
  }
}

TEST_CASE("documented: every create_per_worker_dataset has iterators of its own") {
  Bed bed(1);
  const auto coordinator = bed.connect();
  const auto first = good(coordinator->create_per_worker_dataset("ten", soon()));
  const auto second = good(coordinator->create_per_worker_dataset("ten", soon()));
  CHECK(fetch(schedule(*coordinator, "next", {first})) == 0);
  CHECK(fetch(schedule(*coordinator, "next", {first})) == 1);
  CHECK(fetch(schedule(*coordinator, "next", {second})) == 0);
}

TEST_CASE("documented: a dataset that is repeated serves any finite number of steps") {
  Bed bed;
  const auto coordinator = bed.connect();
  const auto iterator = good(coordinator->create_per_worker_dataset("endless", soon()));
  for (int i = 0; i < 100; ++i) schedule(*coordinator, "next", {iterator});
  good(coordinator->join(soon()));
}

TEST_CASE("documented: the end of a dataset is an OutOfRangeError") {
  Bed bed(1);
  const auto coordinator = bed.connect();
  const auto iterator = good(coordinator->create_per_worker_dataset("threes", soon()));
  for (int i = 0; i < 3; ++i) CHECK(fetch(schedule(*coordinator, "next", {iterator})) == 3);
  schedule(*coordinator, "next", {iterator});
  CHECK(coordinator->join(soon()).error().code == Code::kOutOfRange);
}

TEST_CASE("documented: example: worker_fn(iterator) returns next(iterator), fetched as 3") {
  Bed bed;
  const auto coordinator = bed.connect();
  const auto per_worker_iterator = good(coordinator->create_per_worker_dataset("threes", soon()));
  const RemoteValue remote_value = schedule(*coordinator, "next", {per_worker_iterator});
  CHECK(fetch(remote_value) == 3);
}

// --- done

TEST_CASE("documented: done tells whether all the scheduled functions have finished execution") {
  Bed bed(1);
  const auto coordinator = bed.connect();
  CHECK(good(coordinator->done()));
  bed.gate.close();
  const auto value = schedule(*coordinator, "gated", {number(1)});
  CHECK_FALSE(good(coordinator->done()));
  bed.gate.open();
  until([&] { return good(coordinator->done()); });
  CHECK(value.state() == ClosureState::kReady);
}

TEST_CASE("documented: done fails by raising any one of the errors of previously scheduled functions") {
  Bed bed(1);
  const auto coordinator = bed.connect();
  (void)schedule(*coordinator, "fail", {number(3)}).fetch(soon());
  const auto done = coordinator->done();
  REQUIRE_FALSE(done);
  CHECK(done.error().message.find("bad 3") != std::string::npos);
}

TEST_CASE("documented: when done returns true or raises, no function is still being executed") {
  Bed bed(2);
  const auto coordinator = bed.connect();
  bed.gate.close();
  schedule(*coordinator, "gated", {number(1)});
  bed.gate.wait_for(1);
  CHECK_FALSE(schedule(*coordinator, "fail", {number(1)}).fetch(soon()));
  auto done = std::async(std::launch::async, [&] { return coordinator->done(); });
  CHECK(done.wait_for(50ms) == std::future_status::timeout);  // the other one still executes
  bed.gate.open();
  CHECK_FALSE(done.get());
  CHECK(coordinator->in_flight() == 0);
  CHECK(good(coordinator->done()));
  CHECK(coordinator->in_flight() == 0);
}

TEST_CASE("documented: only errors since the last time an error was raised are raised") {
  Bed bed(1);
  const auto coordinator = bed.connect();
  for (int i = 0; i < 3; ++i) {
    (void)schedule(*coordinator, "fail", {number(i)}).fetch(soon());
    const auto done = coordinator->done();
    REQUIRE_FALSE(done);
    CHECK(done.error().message.find("bad " + std::to_string(i)) != std::string::npos);
    CHECK(good(coordinator->done()));
  }
}

// --- fetch

TEST_CASE("documented: fetch waits for a value that isn't ready, blocking the caller") {
  Bed bed(1);
  const auto coordinator = bed.connect();
  bed.gate.close();
  const auto value = schedule(*coordinator, "gated", {number(1)});
  auto fetched = std::async(std::launch::async, [&] { return value.fetch(soon()); });
  CHECK(fetched.wait_for(50ms) == std::future_status::timeout);
  bed.gate.open();
  good(fetched.get());
}

TEST_CASE("documented: fetch of a structure returns the values with the same structure") {
  Bed bed;
  const auto coordinator = bed.connect();
  std::vector<RemoteValue> list;
  for (int i = 0; i < 5; ++i) list.push_back(schedule(*coordinator, "double", {number(i)}));
  const auto values = good(coordinator::fetch(list, soon()));
  REQUIRE(values.size() == 5);
  for (int i = 0; i < 5; ++i) CHECK(number(values[static_cast<std::size_t>(i)].results.at(0)) == 2 * i);
  const std::map<std::string, RemoteValue> named{{"a", list[1]}, {"b", list[2]}};
  const auto by_name = good(coordinator::fetch(named, soon()));
  CHECK(number(by_name.at("a").results.at(0)) == 2);
  CHECK(number(by_name.at("b").results.at(0)) == 4);
}

TEST_CASE("documented: fetch may be called again and again, and raises the function's error every time") {
  Bed bed(1);
  const auto coordinator = bed.connect();
  const auto value = schedule(*coordinator, "double", {number(2)});
  CHECK(fetch(value) == 4);
  CHECK(fetch(value) == 4);
  const auto bad = schedule(*coordinator, "fail", {number(2)});
  for (int i = 0; i < 2; ++i) CHECK(bad.fetch(soon()).error().code == Code::kInvalidArgument);
  CHECK_FALSE(coordinator->join(soon()));
}

TEST_CASE("documented: example: v.assign_add(next(iterator)) and v.read_value() are fetched as 1") {
  Bed bed;
  const auto coordinator = bed.connect(make_program(), bed.options());
  const auto iterator = good(coordinator->create_per_worker_dataset("endless", soon()));
  const auto result = schedule(*coordinator, "add_next", {iterator});
  CHECK(fetch(result) == 1);
  CHECK(read(*coordinator, "v") == 1);
}

TEST_CASE("documented: example: strategy.run within the function runs it on every replica of its worker") {
  Bed bed(0, 1);
  bed.devices["worker:0"] = 3;
  bed.start("worker:0");
  auto config = bed.config();
  config.cluster.add_task("worker", 0, Bed::address("worker:0"));
  const auto coordinator =
      good(ClusterCoordinator::connect(make_program({"variables.v.aggregation=sum"}), config, bed.options()));
  const auto iterator = good(coordinator->create_per_worker_dataset("endless", soon()));
  const auto result = good(coordinator->schedule(
      {.function = "add_next", .args = {iterator}, .replicas = program::Replicas::kEach}, soon()));
  CHECK(fetch(result) == 3);  // each adds the 1 that it got
}

// --- join

TEST_CASE("documented: join blocks until all the scheduled functions have finished execution") {
  Bed bed;
  const auto coordinator = bed.connect();
  bed.gate.close();
  std::vector<RemoteValue> values;
  for (int i = 0; i < 20; ++i) values.push_back(schedule(*coordinator, "gated", {number(1)}));
  auto joined = std::async(std::launch::async, [&] { return coordinator->join(soon()); });
  CHECK(joined.wait_for(50ms) == std::future_status::timeout);
  bed.gate.open();
  good(joined.get());
  for (const RemoteValue& value : values) CHECK(value.state() == ClosureState::kReady);
}

TEST_CASE("documented: fetch tells of every value whether it was executed, failed or was cancelled") {
  Bed bed(1);
  const auto coordinator = bed.connect(make_program(), one_at_a_time(bed));
  bed.gate.close();
  const auto executed = schedule(*coordinator, "gated", {number(1)});
  bed.gate.wait_for(1);
  const auto failed = schedule(*coordinator, "fail", {number(1)});
  const auto cancelled = schedule(*coordinator, "add", {number(100)});
  bed.gate.open();
  const auto joined = coordinator->join(soon());
  REQUIRE_FALSE(joined);
  CHECK(joined.error().task == "worker:0");
  good(executed.fetch(soon()));
  CHECK(failed.fetch(soon()).error().code == Code::kInvalidArgument);
  CHECK(cancelled.fetch(soon()).error().code == Code::kCancelled);
  CHECK(cancelled.cause() == failed.id());
  CHECK(read(*coordinator, "v") == 1);
}

TEST_CASE("documented: a function that was cancelled can be scheduled again") {
  Bed bed(1);
  const auto coordinator = bed.connect(make_program(), one_at_a_time(bed));
  bed.gate.close();
  schedule(*coordinator, "gated", {number(0)});
  bed.gate.wait_for(1);
  schedule(*coordinator, "fail", {number(1)});
  const auto cancelled = schedule(*coordinator, "add", {number(6)});
  bed.gate.open();
  CHECK_FALSE(coordinator->join(soon()));
  CHECK(cancelled.state() == ClosureState::kCancelled);
  good(schedule(*coordinator, "add", {number(6)}).fetch(soon()));
  CHECK(read(*coordinator, "v") == 6);
}

TEST_CASE("documented: when join returns or raises, no function is still being executed") {
  Bed bed(2);
  const auto coordinator = bed.connect();
  bed.gate.close();
  schedule(*coordinator, "gated", {number(1)});
  bed.gate.wait_for(1);
  CHECK_FALSE(schedule(*coordinator, "fail", {number(1)}).fetch(soon()));
  auto joined = std::async(std::launch::async, [&] { return coordinator->join(soon()); });
  CHECK(joined.wait_for(50ms) == std::future_status::timeout);
  bed.gate.open();
  CHECK_FALSE(joined.get());
  CHECK(coordinator->in_flight() == 0);
  CHECK(read(*coordinator, "v") == 1);
}

// --- schedule

TEST_CASE("documented: schedule guarantees that a function is executed on a worker at least once") {
  Bed bed(2);
  const auto coordinator = bed.connect();
  std::vector<RemoteValue> values;
  for (int round = 0; round < 5; ++round) {
    for (int i = 0; i < 20; ++i) values.push_back(schedule(*coordinator, "add", {number(1)}));
    const std::string victim = "worker:" + std::to_string(round % 2);
    bed.kill(victim);
    bed.start(victim);
  }
  good(coordinator->join(soon()));
  for (const RemoteValue& value : values) CHECK(value.state() == ClosureState::kReady);
  CHECK(read(*coordinator, "v") == 100);
}

TEST_CASE("documented: schedule raises any one of the errors and clears those collected so far") {
  Bed bed(1);
  const auto coordinator = bed.connect();
  (void)schedule(*coordinator, "fail", {number(8)}).fetch(soon());
  const auto raised = coordinator->schedule({.function = "add", .args = {number(1)}}, soon());
  REQUIRE_FALSE(raised);
  CHECK(raised.error().message.find("bad 8") != std::string::npos);
  good(schedule(*coordinator, "add", {number(1)}).fetch(soon()));
  CHECK(read(*coordinator, "v") == 1);
}

TEST_CASE("documented: when schedule raises, no function is still being executed") {
  Bed bed(2);
  const auto coordinator = bed.connect();
  bed.gate.close();
  schedule(*coordinator, "gated", {number(1)});
  bed.gate.wait_for(1);
  CHECK_FALSE(schedule(*coordinator, "fail", {number(1)}).fetch(soon()));
  auto scheduled = std::async(std::launch::async, [&] {
    return coordinator->schedule({.function = "add", .args = {number(1)}}, soon()).has_value();
  });
  CHECK(scheduled.wait_for(50ms) == std::future_status::timeout);
  bed.gate.open();
  CHECK_FALSE(scheduled.get());
  CHECK(coordinator->in_flight() == 0);
}

TEST_CASE("documented: per-worker arguments become the worker's own, others are passed as they are") {
  Bed bed(1);
  const auto coordinator = bed.connect();
  const auto iterator = good(coordinator->create_per_worker_dataset("ten", soon()));
  CHECK(fetch(schedule(*coordinator, "next", {iterator})) == 0);
  CHECK(fetch(schedule(*coordinator, "double", {number(21)})) == 42);
  const auto pair =
      good(coordinator->schedule({.function = "pair", .kwargs = {{"a", number(1)}, {"b", number(2)}}}, soon()));
  const auto outcome = good(pair.fetch(soon()));
  CHECK(number(outcome.results.at(0)) == 2);
  CHECK(number(outcome.results.at(1)) == 1);
}

TEST_CASE("documented: a RemoteValue is not supported as an argument") {
  // The type says it; in JSON lines it is an error of its line: "closures: a line that is wrong gets an error …".
  CHECK_FALSE(std::is_constructible_v<Argument, RemoteValue>);
}

TEST_CASE("documented: only functions of the program can be scheduled") {
  Bed bed(1);
  const auto coordinator = bed.connect();
  const auto refused = coordinator->schedule({.function = "a regular function"}, soon());
  REQUIRE_FALSE(refused);
  CHECK(refused.error().code == Code::kInvalidArgument);
  CHECK(good(coordinator->done()));
}

// --- attributes

TEST_CASE("documented: strategy is the one that it distributes by: cluster, replicas, where variables are") {
  Bed bed(2, 2);
  const auto coordinator = bed.connect();
  const ParameterServerStrategyV2 strategy = coordinator->strategy();
  CHECK(cluster::cluster_spec_to_json(strategy.cluster_resolver.cluster) ==
        cluster::cluster_spec_to_json(bed.config().cluster));
  CHECK(strategy.num_replicas_in_sync == coordinator->num_replicas_in_sync());
  CHECK(strategy.placement.ps.size() == 2);
  CHECK(strategy.placement.variables.at("v") == 0);
  auto config = bed.config();
  config.cluster = {};
  config.cluster.add_task("worker", 1, Bed::address("worker:1"));
  for (int i = 0; i < 2; ++i) config.cluster.add_task("ps", i, Bed::address("ps:" + std::to_string(i)));
  good(coordinator->change_cluster(config));
  CHECK(coordinator->strategy().cluster_resolver.cluster.tasks().size() == 3);
}
