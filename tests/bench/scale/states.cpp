// SPDX-License-Identifier: Apache-2.0
//
// Costs of one event for the state machines of thousands of tasks, in processor time: those of the first parameter
// server (the coordination service) and of the coordinator (workers and evaluations), without tasks or a network.
//   bench-states COUNT
// Prints one JSON object: microseconds for each task, and how many members a chief was told of. Not a test.
#include <ctime>

#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "coordination/coordination_state.hpp"
#include "evaluation.hpp"
#include "workers/worker_pool.hpp"

using namespace tfd;

namespace {

using coordinator::EvaluationQueue;
using coordinator::Window;
using coordinator::WorkerPool;
using coordinator::WorkerState;
using task::CoordinationState;

constexpr std::uint32_t kWaits = 1000;
constexpr std::uint32_t kLease = 64;
constexpr Clock::time_point kNow{std::chrono::hours(1)};

double processor_us() {
  timespec now{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) * 1e6 + static_cast<double>(now.tv_nsec) * 1e-3;
}

void print(const char* what, double value) { std::printf(", \"%s\": %.2f", what, value); }

/// Runs `each` for every one of `count`, and prints its mean time.
template <class Each>
void measure(const char* what, std::size_t count, const Each& each) {
  const double begun = processor_us();
  for (std::size_t i = 0; i < count; ++i) each(i);
  print(what, (processor_us() - begun) / static_cast<double>(count));
}

/// Workers of a run without a coordinator, and the chief, which waits for changes of their group.
class Group {
 public:
  explicit Group(std::size_t count) : count_(count) {
    watch();
    measure("join_us", count, [&](std::size_t i) {
      apply(i, {task::JoinGroup{"workers", name_of(i)}});
      apply(i, {task::GetKey{"stopped", 0}, kWaits});
    });
    measure("lease_us", count, [&](std::size_t i) { take(i); });
    // The last half of an epoch's steps: one half of the workers asks, and finds none.
    end_ = static_cast<std::int64_t>(count * kLease);
    measure("wait_us", count / 2, [&](std::size_t i) { take(i); });
    measure("loss_us", count, [&](std::size_t i) { keep(state_.connection_gone(i + 1)); });
    print("told_of_each", static_cast<double>(told_) / static_cast<double>(count));
  }

 private:
  static std::string name_of(std::size_t i) { return "worker:" + std::to_string(i); }

  void take(std::size_t i) {
    task::TakeNumbers take{.queue = "steps", .client = i + 1, .name = name_of(i), .end = end_, .most = kLease};
    take.has_all = true;
    apply(i, {take, kWaits});
  }
  void watch() {
    chief_waits_ = next_++;
    keep(state_.apply(0, chief_waits_, {task::ReadGroup{"workers", known_}, kWaits}));
  }
  void apply(std::size_t i, const task::CoordinationRequest& request) { keep(state_.apply(i + 1, next_++, request)); }
  void keep(const CoordinationState::Replies& replies) {
    bool is_told = false;
    for (const auto& one : replies) {
      if (one.ticket != chief_waits_) continue;
      const auto& group = std::get<task::GroupState>(*one.answer);
      told_ += group.members.size();
      known_ = group.version;
      is_told = true;
    }
    if (is_told) watch();
  }

  const std::size_t count_;
  // The first half's steps are done by the time they ask for more.
  CoordinationState state_{
      [this](std::int64_t number) { return static_cast<std::size_t>(number) < count_ / 2 * kLease; }};
  std::uint64_t next_ = 0, chief_waits_ = 0, known_ = 0;
  std::optional<std::int64_t> end_;
  std::size_t told_ = 0;
};

/// A coordinator's workers: they come up, while its caller waits for all of them, evaluate, and are lost at once.
void use_workers(std::size_t count) {
  WorkerPool workers;
  EvaluationQueue evaluations(workers);
  for (std::size_t i = 0; i < count; ++i) workers.add("worker:" + std::to_string(i), Window(64));
  std::size_t waited = 0;
  measure("up_us", count, [&](std::size_t i) {
    const std::size_t index = workers.find_member(workers[i].name()).value();
    const std::uint64_t generation = workers.up(index, 1, true, kNow).value();
    workers.replicas_known(index, generation, 1, 0);
    workers.program_loaded(index, generation);
    workers.ready(index, generation, Window(64), kNow);
    waited += workers.are_replicas_known() && workers.count(WorkerState::kReady) == workers.size() ? 0 : 1;
  });
  if (waited != count - 1) std::abort();
  const auto pass = evaluations.begin("evaluate", {}, 1);
  std::vector<EvaluationQueue::Part> parts;
  const double begun = processor_us();
  for (auto more = evaluations.take_parts(); !more.empty(); more = evaluations.take_parts())
    for (const auto& part : more) evaluations.answered(part, std::vector<step::Metric>(), false, kNow);
  print("part_us", (processor_us() - begun) / static_cast<double>(count));
  if (!pass->ended()) std::abort();
  evaluations.leave();
  evaluations.begin("evaluate", {}, 1);
  (void)evaluations.take_parts();
  measure("lost_us", count, [&](std::size_t i) {
    workers.lose(workers.find_member(workers[i].name()).value(), std::nullopt, "it is gone", false, kNow);
    workers.take_all(i);
    evaluations.return_part(i);
    (void)evaluations.take_parts();
  });
}

}  // namespace

int main(int argc, char** argv) {
  const long count = argc == 2 ? std::atol(argv[1]) : 0;
  if (count < 2) {
    std::fprintf(stderr, "usage: bench-states COUNT\n");
    return 64;
  }
  std::printf("{\"tasks\": %ld", count);
  Group group(static_cast<std::size_t>(count));
  use_workers(static_cast<std::size_t>(count));
  std::printf("}\n");
}
