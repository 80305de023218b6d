// SPDX-License-Identifier: Apache-2.0
//
// ClusterCoordinator on real task servers: deaths of tasks, and behavior that its documentation leaves open. The
// documented promises are in test_documented.cpp.
#include <algorithm>
#include <future>
#include <random>
#include <thread>

#include "asking.hpp"
#include "tfd/task/gather.hpp"

using namespace tfd;
using namespace tfd::bed;
using namespace tfd::coordinator;

TEST_CASE("coordinator: a function without results has none (vectors: no_return)") {
  Bed bed(1);
  const auto coordinator = bed.connect();
  CHECK(good(schedule(*coordinator, "add", {number(1)}).fetch(soon())).results.empty());
  CHECK(read(*coordinator, "v") == 1);
}

TEST_CASE("coordinator: with keep_going nothing is raised or cancelled") {
  Bed bed;
  auto options = bed.options();
  options.keep_going = true;
  const auto coordinator = bed.connect(make_program(), std::move(options));
  const auto bad = schedule(*coordinator, "fail", {number(1)});
  for (int i = 0; i < 10; ++i) schedule(*coordinator, "add", {number(1)});
  good(coordinator->join(soon()));
  CHECK(bad.state() == ClosureState::kError);
  CHECK(read(*coordinator, "v") == 10);
}

TEST_CASE("coordinator: refuses calls that don't fit before anything is scheduled (vectors: bad_args)") {
  Bed bed(1);
  const auto coordinator = bed.connect();
  const auto refused = [&](Call call) {
    const auto value = coordinator->schedule(std::move(call), soon());
    REQUIRE_FALSE(value);
    CHECK(value.error().code == Code::kInvalidArgument);
    return value.error().message;
  };
  CHECK(refused({.function = "duoble"}) == "no function 'duoble', did you mean 'double'?");
  CHECK(refused({.function = "double"}) == "double: takes 1 argument, got 0");
  CHECK(refused({.function = "double", .args = {Tensor::zeros(DType::kF32, {2})}}) ==
        "double: argument 0 is f32[2], but the function takes s32[]");
  CHECK(refused({.function = "next", .args = {number(1)}}) ==
        "next: argument 0 must be an iterator: its field 'x' is used");
  CHECK(refused({.function = "pair", .kwargs = {{"a", number(1)}}}) == "pair: argument 'b' is missing");
  CHECK(refused({.function = "pair", .kwargs = {{"a", number(1)}, {"c", number(1)}}})
            .starts_with("pair: no argument 'c'"));
  CHECK(coordinator->read("w", soon()).error().code == Code::kNotFound);
  CHECK(coordinator->create_per_worker_dataset("tehn", soon()).error().message ==
        "no dataset 'tehn', did you mean 'ten'?");
  CHECK(good(coordinator->done()));
}

TEST_CASE("coordinator: schedule blocks while the queue is full, and says whom it waits for") {
  Bed bed(1);
  auto options = bed.options();
  options.window = 1;
  options.queue_capacity = 2;
  const auto coordinator = bed.connect(make_program(), std::move(options));
  bed.gate.close();
  schedule(*coordinator, "gated", {number(1)});
  bed.gate.wait_for(1);
  schedule(*coordinator, "add", {number(1)});
  schedule(*coordinator, "add", {number(1)});
  const auto late = coordinator->schedule({.function = "add", .args = {number(1)}}, Deadline::after(50ms));
  REQUIRE_FALSE(late);
  CHECK(late.error().code == Code::kDeadlineExceeded);
  CHECK(late.error().message.find("worker:0 (holds 1 closure") != std::string::npos);
  auto blocked = std::async(std::launch::async,
                            [&] { return coordinator->schedule({.function = "add", .args = {number(1)}}, soon()); });
  bed.gate.open();
  CHECK(blocked.get());
  good(coordinator->join(soon()));
  CHECK(read(*coordinator, "v") == 4);
}

TEST_CASE("coordinator: waits that give up name whom they wait for") {
  Bed bed(1);
  const auto coordinator = bed.connect();
  bed.gate.close();
  const auto value = schedule(*coordinator, "gated", {number(1)});
  bed.gate.wait_for(1);
  const auto joined = coordinator->join(Deadline::after(20ms));
  REQUIRE_FALSE(joined);
  CHECK(joined.error().code == Code::kDeadlineExceeded);
  CHECK(joined.error().message.find("worker:0") != std::string::npos);
  const auto fetched = value.fetch(Deadline::after(20ms));
  REQUIRE_FALSE(fetched);
  CHECK(fetched.error().code == Code::kDeadlineExceeded);
  CHECK(fetched.error().message.find("worker:0") != std::string::npos);
  bed.gate.open();
  good(coordinator->join(soon()));
}

TEST_CASE("coordinator: on_done comes once for each closure, in completion order") {
  Bed bed(1);
  const auto coordinator = bed.connect();
  std::mutex mutex;
  std::vector<ClosureId> order;
  std::promise<void> last;
  for (int i = 0; i < 20; ++i)
    good(coordinator->schedule({.function = "double",
                                .args = {number(i)},
                                .on_done =
                                    [&](const RemoteValue& value) {
                                      const std::scoped_lock lock(mutex);
                                      order.push_back(value.id());
                                      if (order.size() == 20) last.set_value();
                                    }},
                               soon()));
  REQUIRE(last.get_future().wait_for(20s) == std::future_status::ready);
  CHECK(std::is_sorted(order.begin(), order.end()));  // one worker runs them in order
}

TEST_CASE("coordinator: a killed worker's closures are migrated, each update is applied once, and it is used again") {
  Bed bed;
  auto options = bed.options();
  std::mutex mutex;
  std::condition_variable changed;
  std::vector<std::string> changes;
  options.on_worker = [&](const train::WorkerEvent& change) {
    const std::scoped_lock lock(mutex);
    changes.push_back(change.task + (change.lost ? " lost" : " back"));
    changed.notify_all();
  };
  const auto coordinator = bed.connect(make_program(), std::move(options));
  const auto iterator = good(coordinator->create_per_worker_dataset("endless", soon()));
  bed.gate.close();
  std::vector<RemoteValue> values;
  for (int i = 0; i < 20; ++i) values.push_back(schedule(*coordinator, "gated", {number(1)}));
  bed.gate.wait_for(2);  // both workers hold some
  bed.kill("worker:1");
  bed.gate.open();
  good(coordinator->join(soon()));
  for (const auto& value : values) CHECK(value.state() == ClosureState::kReady);
  CHECK(read(*coordinator, "v") == 20);
  bed.start("worker:1");
  {
    std::unique_lock lock(mutex);
    REQUIRE(changed.wait_for(lock, 20s, [&] { return changes.size() == 2; }));
    CHECK(changes == std::vector<std::string>{"worker:1 lost", "worker:1 back"});
  }
  CHECK(coordinator->workers_up() == 2);
  bed.kill("worker:0");  // so that it is the one that came back
  CHECK(fetch(schedule(*coordinator, "next", {iterator})) == 1);
}

TEST_CASE("coordinator: a worker that is cut off for a while does no harm when it is heard again") {
  Bed bed;
  const auto coordinator = bed.connect();
  bed.gate.close();
  for (int i = 0; i < 12; ++i) schedule(*coordinator, "gated", {number(1)});
  bed.gate.wait_for(2);
  bed.network->cut(Bed::address("worker:1"), true);
  while (coordinator->workers_up() == 2) std::this_thread::yield();
  bed.gate.open();
  good(coordinator->join(soon()));
  CHECK(read(*coordinator, "v") == 12);
  bed.network->cut(Bed::address("worker:1"), false);
  while (coordinator->workers_up() == 1) std::this_thread::yield();  // it has run or dropped what it still held by then
  for (int i = 0; i < 12; ++i) schedule(*coordinator, "add", {number(1)});
  good(coordinator->join(soon()));
  CHECK(read(*coordinator, "v") == 24);
}

TEST_CASE("coordinator: what an error cancelled on a worker that is only cut off never reaches the variables") {
  Bed bed(2, 1);
  auto options = bed.options();
  options.window = 1;
  const auto coordinator = bed.connect(make_program(), std::move(options));
  bed.gate.close();
  schedule(*coordinator, "gated", {number(1)});
  schedule(*coordinator, "gated", {number(1)});
  bed.gate.wait_for(2);
  bed.network->cut(Bed::address("worker:1"), true);
  while (coordinator->workers_up() == 2) std::this_thread::yield();
  schedule(*coordinator, "fail", {number(1)});
  bed.gate.open();
  // Either the cut-off closure was run again by worker:0 before the error, or it was canceled by it: never both.
  const bool raised = !coordinator->join(soon());
  CHECK(raised);
  const auto before = read(*coordinator, "v");
  bed.network->cut(Bed::address("worker:1"), false);
  while (coordinator->workers_up() == 1) std::this_thread::yield();
  CHECK(read(*coordinator, "v") == before);
}

TEST_CASE("coordinator: waits while all workers are dead, and goes on when one is back") {
  Bed bed(2);
  const auto coordinator = bed.connect();
  bed.kill("worker:0");
  bed.kill("worker:1");
  while (coordinator->workers_up() > 0) std::this_thread::yield();
  for (int i = 0; i < 5; ++i) schedule(*coordinator, "add", {number(1)});
  const auto waiting = coordinator->join(Deadline::after(50ms));
  REQUIRE_FALSE(waiting);
  CHECK(waiting.error().message.find("worker:0 (away for") != std::string::npos);
  bed.start("worker:1");
  good(coordinator->join(soon()));
  CHECK(read(*coordinator, "v") == 5);
}

TEST_CASE("coordinator: says in the log who holds things up when nothing moves") {
  Bed bed(1);
  auto options = bed.options();
  std::promise<std::string> stalled;
  std::atomic<bool> said{false};
  options.stall_after = 50ms;
  options.log = Log("coordinate", [&](LogLevel level, std::string_view, std::string_view text) {
    if (level == LogLevel::kWarning && !said.exchange(true)) stalled.set_value(std::string(text));
  });
  const auto coordinator = bed.connect(make_program(), std::move(options));
  bed.gate.close();
  schedule(*coordinator, "gated", {number(1)});
  auto text = stalled.get_future();
  REQUIRE(text.wait_for(20s) == std::future_status::ready);
  CHECK(text.get().find("waiting for worker:0 (holds 1 closure, last answer") != std::string::npos);
  bed.gate.open();
}

TEST_CASE("coordinator: a lost parameter server is UNAVAILABLE, names it, and ends everything") {
  Bed bed;
  const auto coordinator = bed.connect();
  bed.gate.close();
  std::vector<RemoteValue> values;
  for (int i = 0; i < 10; ++i) values.push_back(schedule(*coordinator, "gated", {number(1)}));
  bed.gate.wait_for(1);
  bed.kill("ps:1");
  const auto joined = coordinator->join(soon());
  REQUIRE_FALSE(joined);
  CHECK(joined.error().code == Code::kUnavailable);
  CHECK(joined.error().task == "ps:1");
  for (const auto& value : values) CHECK(value.fetch(soon()).error().code == Code::kUnavailable);
  CHECK(coordinator->schedule({.function = "double", .args = {number(1)}}).error().task == "ps:1");
  CHECK(coordinator->done().error().code == Code::kUnavailable);
  CHECK(coordinator->evaluate("eval", {}, soon()).error().code == Code::kUnavailable);
  REQUIRE(coordinator->lost());
  bed.gate.open();
}

TEST_CASE("coordinator: connecting fails with the reason where the spec can't do") {
  Bed bed(1);
  const auto program = make_program();
  const auto refused = [&](const cluster::ClusterConfig& config, Duration timeout) {
    auto options = bed.options();
    options.connect_timeout = timeout;
    auto coordinator = ClusterCoordinator::connect(program, config, std::move(options));
    REQUIRE_FALSE(coordinator);
    return coordinator.error();
  };
  cluster::ClusterConfig config;
  CHECK(refused(config, 1s).message == "the cluster spec is empty");
  config.cluster.add_task("ps", 0, "nowhere:1");
  CHECK(refused(config, 1s).message == "the cluster spec has no worker");
  config = {};
  config.cluster.add_task("worker", 0, "worker0:1");
  CHECK(refused(config, 1s).message == "the cluster spec has no ps, but the program has 2 variables");
  config.cluster.add_task("ps", 0, "nowhere:1");
  const Error missing = refused(config, 100ms);
  CHECK(missing.message.find("ps:0") != std::string::npos);
  config.cluster.add_task("ps", 0, "ps0:0");
  CHECK(refused(config, 1s).message.starts_with("cluster.ps:0: cannot connect to port 0"));
}

TEST_CASE("coordinator: begins with one worker, the others join when they come up") {
  Bed bed(2);
  bed.kill("worker:1");
  const auto coordinator = bed.connect();
  CHECK(coordinator->workers_up() == 1);
  bed.start("worker:1");
  while (coordinator->workers_up() == 1) std::this_thread::yield();
  CHECK(fetch(schedule(*coordinator, "double", {number(4)})) == 8);
}

TEST_CASE("coordinator: no worker at all is a deadline that names those that are missing") {
  Bed bed(2);
  bed.kill("worker:0");
  bed.kill("worker:1");
  auto options = bed.options();
  options.connect_timeout = 100ms;
  const auto coordinator = ClusterCoordinator::connect(make_program(), bed.config(), std::move(options));
  REQUIRE_FALSE(coordinator);
  CHECK(coordinator.error().code == Code::kDeadlineExceeded);
  CHECK(coordinator.error().message.find("worker:0") != std::string::npos);
}

TEST_CASE("coordinator: evaluation is exact, also when a worker dies in the middle of it") {
  Bed bed(3);
  const auto coordinator = bed.connect();
  const auto mean_of = [](const auto& metrics) {
    REQUIRE(metrics.size() == 1);
    CHECK(metrics[0].first == "mean_x");
    return metrics[0].second;
  };
  CHECK(mean_of(good(coordinator->evaluate("eval", {}, soon()))) == 4.5);
  CHECK(mean_of(good(coordinator->evaluate("eval", 4, soon()))) == 1.5);  // the first four elements
  bed.gate.close();
  auto metrics = std::async(std::launch::async, [&] { return coordinator->evaluate("eval", {}, soon()); });
  bed.gate.wait_for(3);
  bed.kill("worker:2");
  bed.gate.open();
  CHECK(mean_of(good(metrics.get())) == 4.5);
  CHECK(coordinator->evaluate("evil", {}, soon()).error().message == "no function 'evil', did you mean 'eval'?");
}

TEST_CASE("coordinator: evaluations of two threads are made one after the other, and both are exact") {
  Bed bed(2);
  const auto coordinator = bed.connect();
  bed.gate.close();
  const auto evaluate = [&](std::optional<std::int64_t> steps) {
    return std::async(std::launch::async, [&, steps] { return coordinator->evaluate("eval", steps, soon()); });
  };
  auto all = evaluate({});
  bed.gate.wait_for(2);  // it is the one that runs
  auto four = evaluate(4);
  const auto late = coordinator->evaluate("eval", {}, Deadline::after(50ms));
  REQUIRE_FALSE(late);
  CHECK(late.error().code == Code::kDeadlineExceeded);
  CHECK(
      late.error().message.find(
          "evaluation by 'eval': another evaluation, by 'eval', has not finished: waiting for worker:0 (evaluating") ==
      0);
  bed.gate.open();
  CHECK(good(all.get()).at(0).second == 4.5);
  CHECK(good(four.get()).at(0).second == 1.5);
}

TEST_CASE("coordinator: evaluations that are stopped end, one that runs and those that wait") {
  Bed bed(2);
  const auto coordinator = bed.connect();
  bed.gate.close();
  using Metrics = std::vector<std::pair<std::string, double>>;
  std::vector<std::future<Result<Metrics>>> ended;
  for (int i = 0; i < 3; ++i)
    ended.push_back(std::async(std::launch::async, [&] { return coordinator->evaluate("eval", {}, soon()); }));
  bed.gate.wait_for(2);
  coordinator->stop_evaluating();
  for (auto& one : ended) {
    const auto evaluated = one.get();
    REQUIRE_FALSE(evaluated);
    CHECK(evaluated.error().code == Code::kCancelled);
  }
  bed.gate.open();
}

TEST_CASE("coordinator: only what is an evaluation is evaluated") {
  Bed bed(1);
  const auto coordinator = bed.connect();
  CHECK(coordinator->evaluate("step", {}, soon()).error().message ==
        "'step' updates variables, which an evaluation must not do");
  CHECK(coordinator->evaluate("peek", {}, soon()).error().message == "'peek' has no metric");
  CHECK(coordinator->evaluate("eval_endless", {}, soon()).error().message ==
        "dataset 'endless' never ends: set 'steps'");
  CHECK(good(coordinator->evaluate("eval_endless", 3, soon())).at(0).second == 1);
}

TEST_CASE("coordinator: state goes out of one run and into the next, over another number of servers") {
  tensor::NamedTensors state;
  {
    Bed bed(1, 2);
    const auto coordinator = bed.connect();
    good(coordinator->assign("v", number(7), soon()));
    good(coordinator->assign("n", number(8), soon()));
    CHECK_FALSE(coordinator->assign("v", Tensor::zeros(DType::kF32, {}), soon()));
    state = good(coordinator->export_state(soon()));
  }
  Bed bed(1, 1);
  const auto coordinator = bed.connect();
  good(coordinator->import_state(state, soon()));
  CHECK(read(*coordinator, "v") == 7);
  CHECK(read(*coordinator, "n") == 8);
}

TEST_CASE("coordinator: a value outlives its coordinator, and an unfinished one is cancelled by its end") {
  Bed bed(1);
  auto coordinator = bed.connect();
  const auto ready = schedule(*coordinator, "double", {number(3)});
  CHECK(fetch(ready) == 6);
  bed.gate.close();
  const auto unfinished = schedule(*coordinator, "gated", {number(1)});
  bed.gate.wait_for(1);
  coordinator.reset();
  CHECK(fetch(ready) == 6);
  CHECK(unfinished.fetch(soon()).error().code == Code::kCancelled);
}

TEST_CASE("coordinator: says goodbye to every task at its end, unless it is to keep them") {
  Bed bed(2, 1);
  auto options = bed.options();
  bed.connect(make_program(), options).reset();
  CHECK(bed.goodbyes == 0);
  options.keep_servers = false;
  bed.connect(make_program(), options).reset();
  CHECK(bed.goodbyes == 3);
  good(say_goodbye(bed.config(), bed.factory(), soon()));
  CHECK(bed.goodbyes == 6);
}

TEST_CASE("coordinator: says goodbye to tasks that come late, or come back") {
  Bed bed(3, 1);
  constexpr std::uint16_t kShutdownKind = 12;
  std::atomic<bool> is_starting{true};
  bed.takes = [&](const std::string& task, std::uint16_t kind, transport::Responder& responder) {
    if (task != "worker:2" || kind != kShutdownKind || !is_starting.exchange(false)) return false;
    responder.reply(fail(Code::kUnavailable, "worker:2 is starting"));
    return true;
  };
  bed.kill("worker:1");
  auto options = bed.options();
  options.keep_servers = false;
  const auto coordinator = bed.connect(make_program(), options);
  bed.kill("worker:2");
  until([&] { return coordinator->workers_up() == 1; });
  const std::jthread comers([&] {
    until([&] { return bed.goodbyes == 2; });
    bed.start("worker:1");
    bed.start("worker:2");
  });
  good(coordinator->shutdown_tasks(soon()));
  CHECK(bed.goodbyes == 4);
  CHECK_FALSE(is_starting);
}

TEST_CASE("coordinator: names the tasks that its goodbye didn't reach") {
  Bed bed(3, 1);
  bed.kill("worker:1");
  const auto coordinator = bed.connect();
  bed.kill("worker:2");
  until([&] { return coordinator->workers_up() == 1; });
  const auto told = coordinator->shutdown_tasks(Deadline::after(1s));
  REQUIRE_FALSE(told);
  CHECK(told.error().message == "worker:1 and worker:2 did not answer the goodbye");
  CHECK(bed.goodbyes == 2);
}

TEST_CASE("coordinator: who waits for too long is told how much isn't finished, and whom it waits for") {
  Bed bed(1, 1);
  auto options = bed.options();
  options.queue_capacity = 1;
  options.window = 1;
  const auto coordinator = bed.connect(make_program(), options);
  bed.gate.close();
  schedule(*coordinator, "gated", {number(1)});
  bed.gate.wait_for(1);
  const auto joined = coordinator->join(Deadline::after(1ms));
  REQUIRE_FALSE(joined);
  CHECK(joined.error().message.starts_with("1 closure has not finished: waiting for worker:0 (holds 1 closure, last "));
  schedule(*coordinator, "gated", {number(1)});
  const auto full = coordinator->schedule({.function = "gated", .args = {number(1)}}, Deadline::after(1ms));
  REQUIRE_FALSE(full);
  CHECK(full.error().message.starts_with("the queue is full (1 closure): waiting for worker:0"));
  CHECK(coordinator->join(Deadline::after(1ms)).error().message.starts_with("2 closures have not finished: "));
  bed.gate.open();
  good(coordinator->join(soon()));
}

TEST_CASE("coordinator: who has nothing to do doesn't end tasks that are at work for somebody else") {
  Bed bed(2, 1);
  auto coordinator = bed.connect();
  bed.gate.close();
  const auto working = schedule(*coordinator, "gated", {number(1)});
  bed.gate.wait_for(1);
  const auto refused = say_goodbye(bed.config(), bed.factory(), soon());
  REQUIRE_FALSE(refused);
  CHECK(refused.error().code == Code::kFailedPrecondition);
  CHECK(refused.error().message.starts_with("ps:0 belongs to another run "));
  CHECK(bed.goodbyes == 0);
  bed.gate.open();
  good(coordinator->join(soon()));
  CHECK_FALSE(say_goodbye(bed.config(), bed.factory(), soon()));  // it does nothing, but it exists
  CHECK(bed.goodbyes == 0);
  coordinator.reset();
  good(say_goodbye(bed.config(), bed.factory(), soon()));
  CHECK(bed.goodbyes == 3);
}

TEST_CASE(
    "coordinator: what isn't permitted is fencing or not, which the first parameter server knows when it is back") {
  Bed bed(1, 1);
  auto options = bed.options();
  options.rejoin = 20s;
  const auto older = bed.connect(make_program(), options);
  bed.gate.close();
  const auto working = schedule(*older, "gated", {number(1)});
  bed.gate.wait_for(1);
  std::unique_ptr<ClusterCoordinator> newer;
  std::thread taking_over([&] { newer = bed.take_over(); });  // waits for what runs
  transport::EndpointOptions watching;
  watching.name = "watch";
  const auto endpoint = bed.factory()(std::move(watching)).value();
  task::WorkerClient worker(*endpoint, endpoint->add_peer("worker:0", Bed::address("worker:0")), "worker:0");
  until([&] {
    const auto status = task::gather<task::TaskStatus>(1, [&](std::size_t, auto done) { worker.status(soon(), done); });
    return status[0] && status[0]->is_abandoned;
  });
  bed.network->cut(Bed::address("ps:0"), true);
  bed.gate.open();
  const auto undecided = working.fetch(Deadline::after(6s));
  REQUIRE_FALSE(undecided);
  CHECK(undecided.error().code == Code::kDeadlineExceeded);
  bed.network->cut(Bed::address("ps:0"), false);
  const auto refused = working.fetch(soon());
  REQUIRE_FALSE(refused);
  CHECK(refused.error().message.starts_with("another coordinator has taken the cluster over"));
  taking_over.join();
}

TEST_CASE("coordinator: a newer one fences an older one off, which then leaves the tasks alone") {
  Bed bed(1, 1);
  auto options = bed.options();
  options.keep_servers = false;
  auto older = bed.connect(make_program(), options);
  const auto newer = bed.take_over();
  const auto refused = schedule(*older, "add", {number(1)}).fetch(soon());
  REQUIRE_FALSE(refused);
  CHECK(refused.error().code == Code::kPermissionDenied);
  older.reset();
  CHECK(bed.goodbyes == 0);
  schedule(*newer, "add", {number(1)});
  good(newer->join(soon()));
  CHECK(read(*newer, "v") == 1);
}

TEST_CASE("coordinator: whatever it asks parameter servers for tells that it was fenced off, and ends it") {
  Bed bed(1, 1);
  const auto older = bed.connect();
  const auto newer = bed.take_over();
  const auto refused = older->read("v", soon());
  REQUIRE_FALSE(refused);
  CHECK(refused.error().code == Code::kPermissionDenied);
  until([&] { return older->lost().has_value(); });
  CHECK(older->lost()->message.starts_with("another coordinator has taken the cluster over: "));
  CHECK(older->join(soon()).error().code == Code::kPermissionDenied);
  CHECK_FALSE(newer->lost());
}

TEST_CASE("coordinator: random workers die and come back, and every closure is applied exactly once") {
  for (unsigned seed = 1; seed <= 5; ++seed) {
    CAPTURE(seed);
    Bed bed(3);
    const auto coordinator = bed.connect();
    int expected = 0;
    std::mt19937 random(seed);
    const auto next = [&random](unsigned most) { return static_cast<unsigned>(random()) % most; };
    for (int round = 0; round < 6; ++round) {
      const int count = 20 + static_cast<int>(next(60));
      for (int i = 0; i < count; ++i) schedule(*coordinator, "add", {number(1)});
      expected += count;
      const std::string victim = "worker:" + std::to_string(next(3));
      bed.kill(victim);
      bed.start(victim);
    }
    good(coordinator->join(soon()));
    CHECK(read(*coordinator, "v") == expected);
  }
}
