// SPDX-License-Identifier: Apache-2.0
//
// Workers with several devices, as the coordinator sees them.
#include "asking.hpp"
#include "tfd/coordinator/trainer.hpp"

using namespace tfd;
using namespace tfd::bed;
using namespace tfd::coordinator;

TEST_CASE("replicas: the coordinator knows how many a worker runs") {
  Bed bed(0, 1);
  for (const char* worker : {"worker:0", "worker:1"}) bed.devices[worker] = 3;
  bed.start("worker:0");
  bed.start("worker:1");
  auto config = bed.config();
  for (int i = 0; i < 2; ++i) config.cluster.add_task("worker", i, Bed::address("worker:" + std::to_string(i)));
  const auto coordinator = ClusterCoordinator::connect(make_program(), config, bed.options()).value();
  CHECK(coordinator->num_replicas_in_sync() == 3);
  auto value = coordinator->schedule({.function = "double", .args = {number(4)}, .replicas = program::Replicas::kEach});
  REQUIRE(value);
  const auto outcome = value->fetch(soon());
  REQUIRE(outcome);
  CHECK(outcome->results[0].shape() == tensor::Shape{3});
  CHECK(outcome->results[0].as<std::int32_t>()[2] == 8);
}

TEST_CASE("replicas: workers with different numbers of devices are an error that names both") {
  Bed bed(0, 1);
  bed.devices["worker:1"] = 2;
  bed.start("worker:0");
  bed.start("worker:1");
  auto config = bed.config();
  for (int i = 0; i < 2; ++i) config.cluster.add_task("worker", i, Bed::address("worker:" + std::to_string(i)));
  auto coordinator = ClusterCoordinator::connect(make_program(), config, bed.options());
  std::optional<Error> error;
  if (!coordinator) {
    error = coordinator.error();
  } else {  // the second one was slow to say
    const auto deadline = soon();
    while (!(error = (*coordinator)->lost()) && !deadline.expired()) std::this_thread::yield();
  }
  REQUIRE(error);
  CHECK(error->code == Code::kInvalidArgument);
  CHECK(error->message.find("worker:0 has 1 device") != std::string::npos);
  CHECK(error->message.find("worker:1 has 2 devices") != std::string::npos);
}

TEST_CASE("replicas: a worker that returns with another number isn't used, and the others go on") {
  Bed bed(2);
  auto options = bed.options();
  std::atomic<bool> said{false};
  options.log = Log("coordinate", [&](LogLevel, std::string_view, std::string_view text) {
    if (text.find("worker:1 has 2 devices") != std::string_view::npos) said = true;
  });
  const auto coordinator = bed.connect(make_program(), std::move(options));
  bed.kill("worker:1");
  bed.devices["worker:1"] = 2;
  bed.start("worker:1");
  const auto deadline = soon();
  while (!said && !deadline.expired()) std::this_thread::yield();
  CHECK(said);
  CHECK(coordinator->workers_up() == 1);
  REQUIRE(coordinator->schedule({.function = "add", .args = {number(1)}}));
  CHECK(coordinator->join(soon()));
  CHECK(coordinator->num_replicas_in_sync() == 1);
}

TEST_CASE("replicas: a training's steps are run by all replicas of a worker") {
  Bed bed(0, 1);
  bed.devices["worker:0"] = 2;
  bed.start("worker:0");
  auto config = bed.config();
  config.cluster.add_task("worker", 0, Bed::address("worker:0"));
  std::string events;
  TrainOptions options;
  options.write_event = [&](std::string_view line) -> Result<void> {
    events += line;
    return {};
  };
  const auto program = make_program({R"(train={"function": "data_step", "steps": 5})", "variables.v.aggregation=sum"});
  const auto connect = [&](CoordinatorOptions with) {
    auto coordinator = ClusterCoordinator::connect(program, config, std::move(with));
    return coordinator;
  };
  const auto summary = coordinator::train(program, connect, bed.options(), options);
  if (!summary) FAIL(summary.error().message);
  CHECK(summary->step == 5);  // ten elements, two a step
  CHECK(events.find(R"("workers":1,"expected_workers":1,"replicas":2)") != std::string::npos);
}

TEST_CASE("replicas: a variable that is synchronized on read has a value for each, and one for the coordinator") {
  Bed bed(0, 2);
  for (const char* worker : {"worker:0", "worker:1"}) bed.devices[worker] = 2;
  auto config = bed.config();
  for (int i = 0; i < 2; ++i) config.cluster.add_task("worker", i, Bed::address("worker:" + std::to_string(i)));
  const auto program = make_program({"variables.v.synchronization=on_read", "variables.v.aggregation=sum",
                                     "variables.own.synchronization=on_read", "variables.own.aggregation=sum"});
  bed.start("worker:1");  // the first worker decides on their number
  auto connected = ClusterCoordinator::connect(program, config, bed.options());
  if (!connected) FAIL(connected.error().message);
  ClusterCoordinator& coordinator = **connected;
  for (int i = 0; i < 20; ++i)
    REQUIRE(coordinator.schedule({.function = "add", .args = {number(3)}, .replicas = program::Replicas::kEach}));
  REQUIRE(coordinator.join(soon()));
  CHECK(read(coordinator, "v") == 120);
  good(coordinator.assign("v", number(11), soon()));
  CHECK(read(coordinator, "v") == 10);  // five for each
  const auto state = good(coordinator.export_state(soon()));
  const auto value_of = [&](const std::string& name) {
    const auto found = std::ranges::find(state, name, [](const auto& one) { return one.first; });
    return found == state.end() ? -1 : number(found->second);
  };
  CHECK(value_of("v") == 10);
  CHECK(std::ranges::none_of(state, [](const auto& one) { return one.first.find(".replica") != std::string::npos; }));
  good(coordinator.assign("v", number(0), soon()));
  good(coordinator.import_state(state, soon()));
  CHECK(read(coordinator, "v") == 10);
  const auto refused = coordinator.schedule({.function = "add", .args = {number(3)}});
  REQUIRE(refused);
  CHECK(refused->fetch(soon()).error().message.find("can only be assigned outside of replicas") != std::string::npos);
  CHECK_FALSE(coordinator.join(soon()));
  CHECK(coordinator.read_rows("v", number(0), soon()).error().code == Code::kUnimplemented);
  // The same holds for each worker's own variable.
  good(coordinator.assign("own", number(7), soon()));
  CHECK(fetch(good(coordinator.values_on_workers("own")).at(1)) == 6);
}

TEST_CASE("replicas: a worker with others than the variables were made for isn't used") {
  Bed bed(0, 1);
  bed.devices["worker:0"] = 2;
  bed.start("worker:0");
  auto config = bed.config();
  for (int i = 0; i < 2; ++i) config.cluster.add_task("worker", i, Bed::address("worker:" + std::to_string(i)));
  const auto program = make_program({"variables.v.synchronization=on_read", "variables.v.aggregation=sum"});
  auto options = bed.options();
  std::atomic<bool> said{false};
  options.log = Log("coordinate", [&](LogLevel, std::string_view, std::string_view text) {
    if (text.find("worker:0 has 3 devices, but variables that are synchronized on read were created for 2") !=
        std::string_view::npos)
      said = true;
  });
  auto connected = ClusterCoordinator::connect(program, config, std::move(options));
  if (!connected) FAIL(connected.error().message);
  bed.kill("worker:0");
  bed.devices["worker:0"] = 3;
  bed.start("worker:0");
  until([&] { return said.load(); });
  CHECK((*connected)->workers_up() == 0);
}
