// SPDX-License-Identifier: Apache-2.0
//
// Another cluster while it runs, wrong tasks at an address, and goodbyes of coordinators that are too old.
#include <unistd.h>

#include <future>

#include "asking.hpp"
#include "tfd/coordinator/cluster_coordinator.hpp"

using namespace tfd;
using namespace tfd::bed;
using namespace tfd::coordinator;

namespace {

cluster::ClusterConfig cluster_of(int workers, int servers) {
  cluster::ClusterConfig config;
  for (int i = 0; i < workers; ++i) config.cluster.add_task("worker", i, Bed::address("worker:" + std::to_string(i)));
  for (int i = 0; i < servers; ++i) config.cluster.add_task("ps", i, Bed::address("ps:" + std::to_string(i)));
  return config;
}

}  // namespace

TEST_CASE("members: a worker that joins gets the program and the iterators, then closures") {
  Bed bed(1);
  const auto coordinator = bed.connect();
  const auto iterator = good(coordinator->create_per_worker_dataset("ten", soon()));
  bed.start("worker:1");
  const auto change = good(coordinator->change_cluster(cluster_of(2, 2)));
  CHECK(change.joined == std::vector<std::string>{"worker:1"});
  CHECK(change.left.empty());
  until([&] { return coordinator->workers_up() == 2; });
  bed.kill("worker:0");
  CHECK(fetch(schedule(*coordinator, "next", {iterator})) == 0);  // its own, from the beginning
  CHECK(coordinator->workers_up() == 1);
}

TEST_CASE("members: what a worker that leaves held goes to others, and it may come back") {
  Bed bed(2);
  auto options = bed.options();
  options.window = 4;
  const auto coordinator = bed.connect(make_program(), std::move(options));
  bed.gate.close();
  for (int i = 0; i < 8; ++i) schedule(*coordinator, "gated", {number(1)});
  bed.gate.wait_for(2);
  CHECK(good(coordinator->change_cluster(cluster_of(1, 2))).left == std::vector<std::string>{"worker:1"});
  CHECK(coordinator->workers_up() == 1);
  bed.gate.open();
  good(coordinator->join(soon()));
  CHECK(read(*coordinator, "v") == 8);
  CHECK(good(coordinator->change_cluster(cluster_of(2, 2))).joined == std::vector<std::string>{"worker:1"});
  until([&] { return coordinator->workers_up() == 2; });
  for (int i = 0; i < 8; ++i) schedule(*coordinator, "add", {number(1)});
  good(coordinator->join(soon()));
  CHECK(read(*coordinator, "v") == 16);
}

TEST_CASE("members: a worker that moved is used at its new address") {
  Bed bed(2);
  const auto coordinator = bed.connect();
  bed.start_at("worker:1", "elsewhere:1");
  auto config = cluster_of(1, 2);
  config.cluster.add_task("worker", 1, "elsewhere:1");
  CHECK(good(coordinator->change_cluster(config)).moved == std::vector<std::string>{"worker:1"});
  until([&] { return coordinator->workers_up() == 2; });
  bed.kill("worker:0");
  for (int i = 0; i < 8; ++i) schedule(*coordinator, "add", {number(1)});
  good(coordinator->join(soon()));
  CHECK(read(*coordinator, "v") == 8);
}

TEST_CASE("members: parameter servers neither join nor leave nor move, and the message says why") {
  Bed bed(1);
  const auto coordinator = bed.connect();
  auto moved = cluster_of(1, 2);
  moved.cluster.add_task("ps", 1, "elsewhere:1");
  for (const auto& [config, what] : std::vector<std::pair<cluster::ClusterConfig, std::string>>{
           {cluster_of(1, 3), "ps:2 can't join"},
           {cluster_of(1, 1), "ps:1 can't leave"},
           {moved, "ps:1 can't move from ps1:1 to elsewhere:1"}}) {
    const auto refused = coordinator->change_cluster(config);
    REQUIRE_FALSE(refused);
    CHECK(refused.error().code == Code::kFailedPrecondition);
    CHECK(refused.error().message.starts_with(what));
  }
  CHECK(coordinator->change_cluster(cluster_of(0, 2)).error().code == Code::kInvalidArgument);
  CHECK(fetch(schedule(*coordinator, "double", {number(1)})) == 2);  // nothing has changed
}

TEST_CASE("members: another task at the address of a spec is an error that names both") {
  Bed bed(1);
  cluster::ClusterConfig config = cluster_of(1, 1);
  config.cluster.add_task("ps", 1, Bed::address("worker:0"));
  auto refused = ClusterCoordinator::connect(make_program(), config, bed.options());
  REQUIRE_FALSE(refused);
  CHECK(refused.error().code == Code::kFailedPrecondition);
  CHECK(refused.error().task == "ps:1");
  CHECK(refused.error().message.starts_with("worker:0 answers where the spec says ps:1 is"));

  config = cluster_of(0, 2);
  config.cluster.add_task("worker", 5, Bed::address("worker:0"));
  refused = ClusterCoordinator::connect(make_program(), config, bed.options());
  REQUIRE_FALSE(refused);
  CHECK(refused.error().message.starts_with("worker:0 answers where the spec says worker:5 is"));
}

TEST_CASE("members: the goodbye of an old coordinator doesn't stop the tasks of a newer one") {
  Bed bed(1);
  auto old_options = bed.options();
  old_options.keep_servers = false;
  auto old_one = bed.connect(make_program(), std::move(old_options));
  const auto newer = bed.take_over();
  good(old_one->shutdown_tasks(soon()));  // answered by all, with a refusal
  old_one.reset();
  CHECK(bed.goodbyes == 0);
  CHECK(fetch(schedule(*newer, "double", {number(3)})) == 6);
  good(newer->shutdown_tasks(soon()));
  CHECK(bed.goodbyes == 3);
}

TEST_CASE("members: a task says what it does and whom it waits for, however busy it is") {
  Bed bed(1);
  const auto status_of = [&](const std::string& task) {
    const auto endpoint = good(bed.factory()({.name = "status"}));
    task::WorkerClient client(*endpoint, endpoint->add_peer(task, Bed::address(task)), task);
    std::promise<Result<task::TaskStatus>> answer;
    client.status(soon(), [&](Result<task::TaskStatus> status) { answer.set_value(std::move(status)); });
    return good(answer.get_future().get());
  };
  CHECK(status_of("worker:0").waits_for == "a coordinator");
  CHECK(status_of("worker:0").devices.empty());
  CHECK(status_of("ps:0").waits_for == "a coordinator");
  const auto coordinator = bed.connect();
  CHECK(status_of("worker:0").waits_for == "closures");
  CHECK(status_of("worker:0").devices == std::vector<std::string>{"fake"});
  CHECK(status_of("worker:0").program == "test.json");
  CHECK(status_of("ps:0").variables == 1);
  CHECK(status_of("ps:0").variable_bytes == 4);
  bed.gate.close();
  for (int i = 0; i < 3; ++i) schedule(*coordinator, "gated", {number(1)});
  bed.gate.wait_for(1);
  until([&] { return status_of("worker:0").closures_waiting == 2; });
  const auto busy = status_of("worker:0");
  CHECK(busy.doing == "gated");
  CHECK(busy.waits_for.empty());
  CHECK(busy.memory_bytes > 0);
  CHECK(busy.pid == ::getpid());
  bed.gate.open();
  good(coordinator->join(soon()));
  CHECK(status_of("worker:0").closures_done == 3);
  CHECK(status_of("worker:0").doing.empty());
}

TEST_CASE("members: a worker that waits for a parameter server names it") {
  Bed bed(1);
  const auto coordinator = bed.connect();
  bed.network->cut(Bed::address("ps:0"), true);  // shorter than its heartbeat's timeout, if need be
  const auto value = schedule(*coordinator, "add", {number(1)});
  const auto endpoint = good(bed.factory()({.name = "status"}));
  task::WorkerClient client(*endpoint, endpoint->add_peer("worker:0", Bed::address("worker:0")), "worker:0");
  std::string waits_for;
  until([&] {
    std::promise<Result<task::TaskStatus>> answer;
    client.status(soon(), [&](Result<task::TaskStatus> status) { answer.set_value(std::move(status)); });
    waits_for = good(answer.get_future().get()).waits_for;
    return waits_for == "ps:0" || value.state() != ClosureState::kNotReady;
  });
  CHECK(waits_for == "ps:0");
  bed.network->cut(Bed::address("ps:0"), false);
}

TEST_CASE("members: what a parameter-server cluster must have, in order") {
  cluster::ClusterConfig config;
  CHECK(check_cluster(config).error().message == "the cluster spec is empty");
  config.cluster.add_task("worker", 0, "w:1");
  CHECK(check_cluster(config).error().message.starts_with("the cluster spec has no ps"));
  good(check_cluster(config, false));
  config.cluster.add_task("ps", 0, "p:1");
  good(check_cluster(config));
  config.task = cluster::TaskId{"worker", 4};
  CHECK_FALSE(check_cluster(config));
  config.task.reset();
  config.cluster.add_task("tpu", 0, "t:1");
  CHECK(check_cluster(config).error().message.find("tpu") != std::string::npos);
}

TEST_CASE("members: who has nothing to do sees that tasks are at work, though one of them is down") {
  Bed bed(2, 1);
  const auto coordinator = bed.connect();
  bed.kill("worker:1");
  std::atomic<bool> is_over{false};
  std::thread at_work([&] {
    while (!is_over) {
      (void)coordinator->schedule({.function = "add", .args = {number(1)}}, soon());
      (void)coordinator->join(soon());
    }
  });
  const auto refused = say_goodbye(bed.config(), bed.factory(), Deadline::after(1s));
  is_over = true;
  at_work.join();
  REQUIRE_FALSE(refused);
  CHECK(refused.error().code == Code::kFailedPrecondition);
  CHECK(bed.goodbyes == 0);
}

TEST_CASE("members: what a coordinator that is gone had evaluated ends with the batch that runs") {
  Bed bed(1, 1);
  auto older = bed.connect();
  bed.gate.close();
  std::thread evaluating([&] { CHECK(older->evaluate("eval", {}, soon()).error().code == Code::kCancelled); });
  bed.gate.wait_for(1);  // the first of ten
  older->stop_evaluating();
  evaluating.join();
  older.reset();
  transport::EndpointOptions options;
  options.name = "looker";
  const auto endpoint = good(bed.factory()(std::move(options)));
  task::WorkerClient worker(*endpoint, endpoint->add_peer("worker:0", Bed::address("worker:0")), "worker:0");
  until([&] {
    const auto answer = std::make_shared<std::promise<Result<task::TaskStatus>>>();
    worker.status(soon(), [answer](Result<task::TaskStatus> status) { answer->set_value(std::move(status)); });
    return good(answer->get_future().get()).is_abandoned;
  });
  bed.gate.let_one_pass();
  CHECK(bed.connect()->workers_up() == 1);
}
