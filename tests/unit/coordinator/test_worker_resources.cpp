// SPDX-License-Identifier: Apache-2.0
//
// Iterators and workers' own variables, without workers or a network.
#include "workers/worker_resources.hpp"

#include "bed.hpp"
#include "ready_workers.hpp"

namespace tfd::coordinator {
namespace {

using Creation = WorkerResources::Creation;

/// Ready workers with the program, and what lives on them.
struct Shelf {
  const program::Program program = bed::make_program();  // "own" is per worker, "v" isn't
  WorkerPool workers;
  ClosureTable requests{0, false};
  std::shared_ptr<CoordinatorLink> link = std::make_shared<CoordinatorLink>();  // with the values
  std::vector<std::uint64_t> dropped;                                           // numbers whose last user has gone
  WorkerResources resources{program, workers, requests, link};

  explicit Shelf(std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) workers.add(fmt::format("worker:{}", i), Window(4));
    for (std::size_t i = 0; i < count; ++i) returns(i);
    link->drop = [this](std::uint64_t number) { dropped.push_back(number); };
  }
  ~Shelf() { link->drop = {}; }

  void returns(std::size_t worker) {
    const auto generation = workers.up(worker, 1, true, {});
    workers.program_loaded(worker, *generation);
    resources.begin(worker);
    create(worker);
    workers.ready(worker, *generation, Window(4), {});
    resources.refresh(worker);
  }
  /// Creates what a worker lacks; the ids, in order.
  std::vector<std::string> create(std::size_t worker) {
    std::vector<std::string> ids;
    while (const auto* next = resources.take_next(worker)) {
      ids.push_back(next->id);
      CHECK(resources.created(next->number, worker, {}) == Creation::kMade);
    }
    return ids;
  }
  void loses(std::size_t worker) {
    take_down(workers, worker);
    resources.lose(worker);
  }
  std::vector<ClosureState> states(const std::string& name) {
    std::vector<ClosureState> out;
    const auto values = resources.values(name).value();
    for (const RemoteValue& value : values) out.push_back(value.state());
    return out;
  }
};

Result<void> refusal(Code code) { return fail(Error{code, "it failed", {}}); }

constexpr auto kReady = ClosureState::kReady, kAborted = ClosureState::kAborted;
using States = std::vector<ClosureState>;

}  // namespace

TEST_CASE("worker resources: each worker creates iterators in the order of their creation, and again when it returns") {
  Shelf shelf(2);
  const auto first = shelf.resources.add("threes", 7), second = shelf.resources.add("ten", 7);
  CHECK(first.id == "threes#7.0");
  CHECK(second.id == "ten#7.1");
  const auto& iterators = *shelf.resources.find(second.id);
  CHECK_FALSE(shelf.resources.is_made(iterators));
  CHECK(shelf.create(0) == std::vector{first.id, second.id});
  CHECK_FALSE(shelf.resources.is_made(iterators));
  shelf.create(1);
  CHECK(shelf.resources.is_made(iterators));
  CHECK(shelf.create(1).empty());
  shelf.loses(0);
  shelf.loses(1);
  CHECK_FALSE(shelf.resources.is_made(iterators));  // nobody has it
  shelf.returns(1);
  CHECK(shelf.resources.is_made(iterators));
  CHECK((iterators.made_on.size() == 1 && iterators.made_on.contains(1)));
}

TEST_CASE("worker resources: a worker without the program gets iterators with it") {
  Shelf shelf(1);
  shelf.loses(0);
  const auto made = shelf.resources.add("threes", 7);
  CHECK(shelf.create(0).empty());
  shelf.resources.begin(0);
  CHECK(shelf.create(0) == std::vector{made.id});
}

TEST_CASE("worker resources: iterators end with their last user, and no worker creates them any more") {
  Shelf shelf(1);
  auto made = std::make_optional(shelf.resources.add("threes", 7));
  const std::string id = made->id;
  auto values = shelf.resources.values(id).value();
  made.reset();
  CHECK(shelf.dropped.empty());  // a value keeps them alive
  values.clear();
  CHECK(shelf.dropped == std::vector<std::uint64_t>{0});
  CHECK(shelf.resources.values(id).error().code == Code::kNotFound);
  CHECK(shelf.resources.drop(0) == id);
  CHECK_FALSE(shelf.resources.drop(0));
  CHECK(shelf.resources.find(id) == nullptr);
  CHECK(shelf.create(0).empty());
}

TEST_CASE("worker resources: iterators that a worker can't create aren't tried by others") {
  Shelf shelf(2);
  const auto bad = shelf.resources.add("ten", 7), good = shelf.resources.add("threes", 7);
  const auto* next = shelf.resources.take_next(0);
  REQUIRE(next->id == bad.id);
  CHECK(shelf.resources.created(next->number, 0, refusal(Code::kInvalidArgument)) == Creation::kFailed);
  CHECK(shelf.resources.find(bad.id)->error->message == "it failed");
  CHECK(shelf.resources.find(bad.id)->error->task == "worker:0");
  CHECK(shelf.create(0) == std::vector{good.id});
  CHECK(shelf.create(1) == std::vector{good.id});
}

TEST_CASE("worker resources: a worker that is loading must create them all, unless they were dropped meanwhile") {
  Shelf shelf(1);
  auto made = std::make_optional(shelf.resources.add("threes", 7));
  shelf.create(0);
  shelf.loses(0);
  shelf.workers.up(0, 2, true, {});
  shelf.resources.begin(0);
  const auto number = shelf.resources.take_next(0)->number;
  CHECK(shelf.resources.created(number, 0, refusal(Code::kUnavailable)) == Creation::kWorkerLost);
  CHECK(shelf.resources.created(number, 0, refusal(Code::kInternal)) == Creation::kWorkerUnfit);
  CHECK_FALSE(shelf.resources.find(number)->error);  // other workers have them
  CHECK(shelf.resources.created(number, 0, refusal(Code::kAlreadyExists)) == Creation::kMade);
  made.reset();
  shelf.resources.drop(number);
  CHECK(shelf.resources.created(number, 0, refusal(Code::kInternal)) == Creation::kFailed);
}

TEST_CASE("worker resources: values say whether a worker has its own, and their error which worker it went with") {
  Shelf shelf(2);
  const auto made = shelf.resources.add("threes", 7);
  const auto on_workers = shelf.resources.values("own").value();
  CHECK(shelf.states("own") == States{kReady, kReady});
  CHECK(shelf.states(made.id) == States{kAborted, kAborted});  // it isn't created yet
  shelf.create(0);
  CHECK(shelf.states(made.id) == States{kReady, kAborted});
  shelf.loses(0);
  CHECK(shelf.states(made.id) == States{kAborted, kAborted});
  CHECK(on_workers[0].state() == kAborted);
  CHECK(on_workers[0].error().message ==
        "aborted: 'own' is gone with worker:0; it is created again when that worker returns");
  CHECK(on_workers[1].state() == kReady);
  shelf.returns(0);
  CHECK(on_workers[0].state() == kReady);
  CHECK(shelf.states(made.id) == States{kReady, kAborted});
}

TEST_CASE("worker resources: values are of per-worker variables and datasets, on the workers of the newest spec") {
  Shelf shelf(2);
  CHECK(shelf.resources.values("v").error().code == Code::kNotFound);
  CHECK(shelf.resources.values("nothing").error().code == Code::kNotFound);
  const auto before = shelf.resources.values("own").value();
  shelf.workers.leave(0);
  shelf.workers.add("worker:2", Window(4));
  CHECK(shelf.states("own") == States{kReady, ClosureState::kNotReady});  // the new one was never ready
  shelf.returns(2);
  CHECK(shelf.states("own") == States{kReady, kReady});
  shelf.resources.abandon();
  CHECK(before[1].state() == kAborted);
}

}  // namespace tfd::coordinator
