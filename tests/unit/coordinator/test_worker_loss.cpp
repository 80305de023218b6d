// SPDX-License-Identifier: Apache-2.0
//
// A closure that its workers die of: said, and given up where a limit is set. A worker's death counts for what it had
// begun, not for what waited behind that.
#include "asking.hpp"

using namespace tfd;
using namespace tfd::bed;
using namespace tfd::coordinator;

namespace {

/// One worker that dies again and again of what it has begun.
struct Deadly {
  Bed bed{1, 1};
  Lines lines;
  std::unique_ptr<ClusterCoordinator> coordinator;
  int begun = 0;

  explicit Deadly(int max_losses, bool keep_going = false) {
    CoordinatorOptions options = bed.options();
    options.max_losses = max_losses;
    options.keep_going = keep_going;
    options.log = lines.log();
    coordinator = bed.connect(make_program(), std::move(options));
    bed.gate.close();
  }
  RemoteValue schedule_deadly() {
    Call call{.function = "gated", .args = {Argument(number(1))}};
    call.label = "line 7";
    return good(coordinator->schedule(std::move(call), soon()));
  }
  void dies() {
    bed.gate.wait_for(++begun);  // those of the dead wait there, too
    bed.kill("worker:0");
    until([this] { return coordinator->workers_up() == 0; });
    bed.start("worker:0");
  }
};

}  // namespace

TEST_CASE("losses: a closure is tried for ever, and named in the log once when the third worker dies of it") {
  Deadly deadly(0);
  const RemoteValue bad = deadly.schedule_deadly();
  const RemoteValue behind = schedule(*deadly.coordinator, "add", {number(1)});
  for (int i = 0; i < 2; ++i) deadly.dies();
  CHECK(deadly.lines.with("was running on a worker").empty());
  for (int i = 0; i < 2; ++i) deadly.dies();
  until([&] { return !deadly.lines.with("was running on a worker").empty(); });
  const auto said = deadly.lines.with("was running on a worker");
  REQUIRE(said.size() == 1);
  CHECK(said[0] ==
        "line 7 ('gated') was running on a worker that died, 3 times (worker:0): it may be the cause; retrying it "
        "(--max-losses limits this)");
  deadly.bed.gate.open();
  good(deadly.coordinator->join(soon()));
  CHECK(bad.state() == ClosureState::kReady);
  CHECK(behind.state() == ClosureState::kReady);
  CHECK(read(*deadly.coordinator, "v") == 2);
}

TEST_CASE("losses: after as many as the limit it fails as any closure does, and what waited behind it is cancelled") {
  Deadly deadly(1);
  const RemoteValue bad = deadly.schedule_deadly();
  const RemoteValue behind = schedule(*deadly.coordinator, "add", {number(1)});
  until([&] { return deadly.coordinator->in_flight() == 2; });
  deadly.dies();  // it may be done, and the other one the cause: each runs alone next
  deadly.bed.gate.wait_for(2);
  deadly.bed.kill("worker:0");
  const auto joined = deadly.coordinator->join(soon());
  REQUIRE_FALSE(joined);
  CHECK(joined.error().code == Code::kAborted);
  CHECK(joined.error().message ==
        "line 7 ('gated') was running on a worker that died, 1 time (worker:0): not retrying it");
  CHECK(bad.state() == ClosureState::kError);
  CHECK(behind.state() == ClosureState::kCancelled);
  deadly.bed.start("worker:0");
  schedule(*deadly.coordinator, "add", {number(5)});
  good(deadly.coordinator->join(soon()));
  CHECK(read(*deadly.coordinator, "v") == 5);
}

TEST_CASE("losses: with keep_going what waited behind it is run, and it counts for nothing of the others") {
  Deadly deadly(2, true);
  constexpr int kDeaths = 3;  // of the first one others may be the cause, as the worker may hold answers
  const RemoteValue bad = deadly.schedule_deadly();
  std::vector<RemoteValue> behind;
  for (int i = 0; i < 5; ++i) behind.push_back(schedule(*deadly.coordinator, "add", {number(1)}));
  for (int i = 0; i < kDeaths; ++i) deadly.dies();
  good(deadly.coordinator->join(soon()));
  CHECK(bad.error().code == Code::kAborted);
  for (const RemoteValue& value : behind) CHECK(value.state() == ClosureState::kReady);
  CHECK(read(*deadly.coordinator, "v") == 5);
}

TEST_CASE("losses: closures that were done, but whose answers died with the worker, aren't blamed for the next one") {
  Deadly deadly(1, true);
  std::vector<RemoteValue> others;
  for (int i = 0; i < 2; ++i) others.push_back(schedule(*deadly.coordinator, "add", {number(1)}));
  const RemoteValue bad = deadly.schedule_deadly();
  for (int i = 0; i < 5; ++i) others.push_back(schedule(*deadly.coordinator, "add", {number(1)}));
  for (int i = 0; i < 2; ++i) deadly.dies();
  good(deadly.coordinator->join(soon()));
  CHECK(bad.error().code == Code::kAborted);
  for (const RemoteValue& value : others) CHECK(value.state() == ClosureState::kReady);
  CHECK(read(*deadly.coordinator, "v") == 7);
}

TEST_CASE("losses: a worker that leaves the cluster dies of nothing") {
  Bed bed(2, 1);
  CoordinatorOptions options = bed.options();
  options.max_losses = 1;
  options.window = 1;
  const auto coordinator = bed.connect(make_program(), std::move(options));
  bed.gate.close();
  for (int i = 0; i < 2; ++i) schedule(*coordinator, "gated", {number(1)});
  bed.gate.wait_for(2);
  auto config = bed.config();
  config.cluster = {};
  config.cluster.add_task("worker", 0, Bed::address("worker:0"));
  for (int i = 0; i < 1; ++i) config.cluster.add_task("ps", i, Bed::address("ps:0"));
  good(coordinator->change_cluster(config));
  bed.gate.open();
  good(coordinator->join(soon()));
  CHECK(read(*coordinator, "v") == 2);
}

namespace {

/// "wide" takes so much that the transport sends it in pieces, "small" doesn't; both wait at the gate.
program::Program make_wide_program() {
  const std::string document = R"({"v": 1, "variables": {"v": {"shape": [], "dtype": "s32", "init": {"zeros": {}}}},
    "functions": {
      "wide": {"module": "gated.mlir", "inputs": [{"arg": 0}], "outputs": [{"result": 0}]},
      "small": {"module": "step.mlir", "inputs": [{"arg": 0}, {"arg": 1}],
                "outputs": [{"metric": "loss"}, {"assign_add": "v"}, {"result": 0}]}}})";
  const auto read = [](const std::string& path) -> Result<std::string> {
    if (path != "gated.mlir") return kModules.at(path);
    return "module { func.func public @main(%x: tensor<8192xi32>) -> tensor<8192xi32> { } }";
  };
  return good(program::parse_program(document, "test.json", "/", read, {}));
}

Call wide_call() {
  Call call{.function = "wide", .args = {Argument(Tensor::zeros(DType::kS32, {8192}))}};
  call.label = "wide";
  return call;
}

Call small_call() {
  Call call{.function = "small", .args = {Argument(number(1)), Argument(number(1))}};
  call.label = "small";
  return call;
}

}  // namespace

TEST_CASE("losses: what may have been overtaken isn't blamed; those in question run alone, and then it is known") {
  Bed bed(1, 1);
  Lines lines;
  CoordinatorOptions options = bed.options();
  options.max_losses = 1;
  options.keep_going = true;
  options.log = lines.log();
  const auto coordinator = bed.connect(make_wide_program(), std::move(options));
  bed.gate.close();
  const RemoteValue wide = good(coordinator->schedule(wide_call(), soon()));
  const RemoteValue small = good(coordinator->schedule(small_call(), soon()));
  const RemoteValue behind = good(coordinator->schedule(small_call(), soon()));
  until([&] { return coordinator->in_flight() == 3; });  // or `wide` would be the only one in question
  const auto die = [&](int begun) {
    bed.gate.wait_for(begun);  // those of the dead wait there, too
    bed.kill("worker:0");
    until([&] { return coordinator->workers_up() == 0; });
    bed.start("worker:0");
  };
  die(1);  // of `wide`, or of `small`, which may have come before it
  bed.gate.wait_for(2);
  CHECK(wide.state() == ClosureState::kNotReady);
  CHECK(small.state() == ClosureState::kNotReady);
  CHECK(lines.with("not trying it again").empty());
  CHECK(coordinator->in_flight() == 1);
  die(2);  // of `wide`, which ran alone
  CHECK(wide.error().code == Code::kAborted);
  bed.gate.wait_for(3);
  CHECK(coordinator->in_flight() == 1);
  bed.gate.open();
  good(coordinator->join(soon()));
  CHECK(small.state() == ClosureState::kReady);
  CHECK(behind.state() == ClosureState::kReady);
}

TEST_CASE("losses: of calls that are alike the first one has begun, however large they are") {
  Bed bed(1, 1);
  CoordinatorOptions options = bed.options();
  options.max_losses = 1;
  options.keep_going = true;
  const auto coordinator = bed.connect(make_wide_program(), std::move(options));
  bed.gate.close();
  const RemoteValue first = good(coordinator->schedule(wide_call(), soon()));
  const RemoteValue second = good(coordinator->schedule(wide_call(), soon()));
  bed.gate.wait_for(1);
  bed.kill("worker:0");
  until([&] { return first.state() == ClosureState::kError; });
  CHECK(first.error().code == Code::kAborted);
  bed.start("worker:0");
  bed.gate.open();
  good(coordinator->join(soon()));
  CHECK(second.state() == ClosureState::kReady);
}
