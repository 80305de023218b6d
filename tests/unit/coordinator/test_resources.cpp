// SPDX-License-Identifier: Apache-2.0
//
// Resources on workers: variables that each has of its own, and iterators. Gone with a worker, made again when it
// returns.
#include "asking.hpp"
#include "tfd/task/gather.hpp"

using namespace tfd;
using namespace tfd::bed;
using namespace tfd::coordinator;

namespace {

void wait_until(const RemoteValue& value, ClosureState state) {
  until([&] { return value.state() == state; });
}

/// Calls functions on workers as the coordinator does, whatever that takes for granted.
class AnswerLabel {
 public:
  explicit AnswerLabel(Bed& bed) : endpoint_(bed.factory()({.name = "asker"}).value()) {}

  /// "next" of the iterators with this id.
  Result<task::ClosureOutcome> next(const std::string& worker, const std::string& id) {
    task::WorkerClient client(*endpoint_, endpoint_->add_peer(worker, Bed::address(worker)), worker);
    const auto status = ask<task::TaskStatus>([&](auto done) { client.status(soon(), std::move(done)); }).value();
    step::FunctionCall call{.epoch = status.epoch, .sequence = task::kWithoutUpdates, .function = "next"};
    call.args = {step::IteratorRef{id}};
    return ask<task::ClosureOutcome>([&](auto done) { client.run(call, soon(), std::move(done)); });
  }
  bool has(const std::string& worker, const std::string& id) {
    const auto outcome = next(worker, id);
    if (!outcome) CHECK(outcome.error().code == Code::kNotFound);
    return outcome.has_value();
  }

 private:
  template <class T, class Ask>
  static Result<T> ask(const Ask& question) {
    return task::gather<T>(1, [&](std::size_t, auto done) { question(std::move(done)); }).front();
  }
  std::unique_ptr<transport::Endpoint> endpoint_;
};

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
  CHECK(wrong.error().message == "double: argument 0: no per-worker variable 'v'");
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
  CHECK(aborted.error().message ==
        "aborted: 'own' is gone with worker:1; it is created again when that worker returns");
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
        "variable 'own' is per worker: every worker has a different value");
  for (const auto& [name, value] : good(coordinator->export_state(soon()))) CHECK(name != "own");
}

TEST_CASE("iterators: are dropped with the last handle") {
  Bed bed(2);
  const auto coordinator = bed.connect();
  AnswerLabel asker(bed);
  std::optional<PerWorkerDataset> dataset = good(coordinator->create_per_worker_dataset("endless", soon()));
  const std::string id = dataset->id;
  std::optional<PerWorkerDataset> copy = dataset;
  dataset.reset();
  for (const char* worker : {"worker:0", "worker:1"}) CHECK(asker.has(worker, id));
  schedule(*coordinator, "next", {*copy});
  good(coordinator->join(soon()));
  copy.reset();
  for (const char* worker : {"worker:0", "worker:1"}) until([&] { return !asker.has(worker, id); });
  CHECK(coordinator->values_on_workers(id).error().code == Code::kNotFound);
}

TEST_CASE("iterators: live as long as a closure that hasn't ended, though nobody has a handle any more") {
  Bed bed(1);
  const auto coordinator = bed.connect();
  AnswerLabel asker(bed);
  bed.gate.close();
  const auto running =
      schedule(*coordinator, "gated_next", {good(coordinator->create_per_worker_dataset("ten", soon()))});
  bed.gate.wait_for(1);
  bed.kill("worker:0");  // the closure is run again, with an iterator that is made for it
  until([&] { return coordinator->workers_up() == 0; });
  bed.start("worker:0");
  bed.gate.open();
  CHECK(fetch(running) == 0);
}

TEST_CASE("iterators: live as long as one of their values on the workers") {
  Bed bed(2);
  const auto coordinator = bed.connect();
  AnswerLabel asker(bed);
  std::optional<PerWorkerDataset> dataset = good(coordinator->create_per_worker_dataset("endless", soon()));
  const std::string id = dataset->id;
  auto values = good(coordinator->values_on_workers(id));
  dataset.reset();
  values.pop_back();
  schedule(*coordinator, "double", {number(1)});
  good(coordinator->join(soon()));
  CHECK(asker.has("worker:1", id));
  CHECK(values.at(0).state() == ClosureState::kReady);
  values.clear();
  until([&] { return !asker.has("worker:1", id); });
}

/// Drops one of two datasets while worker:0 is away: the other one exists when it returns.
void drop_meanwhile(Bed& bed, const std::function<void()>& leave, const std::function<void()>& come_back) {
  const auto coordinator = bed.connect();
  AnswerLabel asker(bed);
  std::optional<PerWorkerDataset> gone = good(coordinator->create_per_worker_dataset("endless", soon()));
  const auto kept = good(coordinator->create_per_worker_dataset("endless", soon()));
  const std::string id = gone->id;
  CHECK(id != kept.id);
  leave();
  until([&] { return coordinator->workers_up() == 0; });
  gone.reset();
  come_back();
  until([&] { return coordinator->workers_up() == 1; });
  CHECK(asker.has("worker:0", kept.id));
  CHECK_FALSE(asker.has("worker:0", id));
}

TEST_CASE("iterators: a worker that returns makes those that live, and no others") {
  Bed bed(1);
  drop_meanwhile(
      bed, [&] { bed.kill("worker:0"); }, [&] { bed.start("worker:0"); });
}

TEST_CASE("iterators: a worker that was only cut off has forgotten those that were dropped meanwhile") {
  Bed bed(1);
  const auto cut = [&](bool is_cut) { bed.network->cut(Bed::address("worker:0"), is_cut); };
  drop_meanwhile(
      bed, [&] { cut(true); }, [&] { cut(false); });
}

TEST_CASE("iterators: those of two coordinators have different ids") {
  Bed bed(1);
  const auto older = bed.connect(), newer = bed.take_over();
  const auto of_newer = good(newer->create_per_worker_dataset("threes", soon()));
  const auto of_older = older->create_per_worker_dataset("threes", soon());
  if (of_older) CHECK(of_older->id != of_newer.id);
  for (int i = 0; i < 3; ++i) CHECK(fetch(schedule(*newer, "next", {of_newer})) == 3);
}

TEST_CASE("iterators: handles may outlive their coordinator") {
  Bed bed(1);
  auto coordinator = bed.connect();
  const auto dataset = good(coordinator->create_per_worker_dataset("ten", soon()));
  const auto values = good(coordinator->values_on_workers(dataset.id));
  coordinator.reset();
  CHECK(values.at(0).state() == ClosureState::kAborted);
}
