// SPDX-License-Identifier: Apache-2.0
//
// Random programs of schedule, join, done, fetch and failing functions on a real coordinator, against the rules of its
// queue. One seed a program, printed where one fails.
#include <cstdlib>
#include <random>

#include "asking.hpp"

using namespace tfd;
using namespace tfd::bed;
using namespace tfd::coordinator;

namespace {

/// Calls that a program has scheduled since it was clean.
struct Scheduled {
  RemoteValue value;
  std::int32_t number = 0;
  bool fails = false;
};

/// A program under way, and what the rules say of it. In order: one worker that holds one closure, so what runs is
/// known.
class Program {
 public:
  Program(ClusterCoordinator& coordinator, unsigned seed, bool in_order, bool one_worker)
      : coordinator_(coordinator), random_(seed), in_order_(in_order), one_worker_(one_worker) {}

  void run(int steps) {
    const std::int32_t before = read(coordinator_, "v");
    for (int step = 0; step < steps; ++step) {
      switch (random_() % 8) {
        case 0:
          check_raised(coordinator_.join(soon()), true);
          break;
        case 1: {
          const auto done = coordinator_.done();
          check_raised(done.map([](bool) {}), done.value_or(false));
          break;
        }
        case 2:
          fetch_any();
          break;
        default:
          schedule_one(random_() % 12 == 0);
      }
    }
    check_raised(coordinator_.join(soon()), true);
    good(coordinator_.join(soon()));  // clean again
    CHECK(good(coordinator_.done()));
    CHECK(read(coordinator_, "v") - before == applied_);
  }

 private:
  void schedule_one(bool fails) {
    const auto number_now = static_cast<std::int32_t>(1 + random_() % 9);
    auto value = coordinator_.schedule(
        {.function = fails ? "fail" : "add_and_read", .args = {Argument(number(number_now))}}, soon());
    if (value) return pending_.push_back({*value, number_now, fails});
    check_raised(fail(std::move(value).error()), true);  // and this one was never scheduled
  }

  void fetch_any() {
    if (pending_.empty()) return;
    const Scheduled& one = pending_[random_() % pending_.size()];
    const bool before_failure = in_order_ && !may_be_cancelled(one);
    // One that is behind a failure has no answer before somebody raises it.
    if (!before_failure) return;
    const auto outcome = one.value.fetch(soon());
    CHECK(outcome.has_value() == !one.fails);
  }

  /// Whether one that was scheduled before it fails.
  bool may_be_cancelled(const Scheduled& one) const {
    for (const Scheduled& other : pending_) {
      if (&other == &one) return false;
      if (other.fails) return true;
    }
    return false;
  }

  /// `all_finished`: the call says that nothing is left.
  void check_raised(const Result<void>& result, bool all_finished) {
    if (!result) {
      CHECK(result.error().code == Code::kInvalidArgument);
      CHECK(coordinator_.in_flight() == 0);
      CHECK(coordinator_.queued() == 0);
      check_all(&result.error());
    } else if (all_finished) {
      check_all(nullptr);
    }
  }

  // Nothing is executing: every closure has its end, and it is one that the rules allow.
  void check_all(const Error* raised) {
    bool raised_is_somebodys = raised == nullptr;
    bool failed_before = false, cancelled_before = false;
    for (const Scheduled& one : pending_) {
      const ClosureState state = one.value.state();
      CHECK(state != ClosureState::kNotReady);
      if (raised == nullptr) {
        CHECK(state == ClosureState::kReady);
        CHECK_FALSE(one.fails);
      }
      if (state == ClosureState::kReady) {
        CHECK_FALSE(one.fails);
        applied_ += one.number;
      }
      if (state == ClosureState::kError) {
        CHECK(one.fails);
        raised_is_somebodys = raised_is_somebodys || one.value.error().message == raised->message;
      }
      if (in_order_) CHECK((state == ClosureState::kCancelled) == failed_before);
      // One worker begins them in order: what it hadn't begun when it heard of the failure it never began.
      if (one_worker_ && state != ClosureState::kCancelled) CHECK_FALSE(cancelled_before);
      if (state == ClosureState::kCancelled && one_worker_) CHECK(failed_before);
      failed_before = failed_before || state == ClosureState::kError;
      cancelled_before = cancelled_before || state == ClosureState::kCancelled;
    }
    CHECK(raised_is_somebodys);
    pending_.clear();
  }

  ClusterCoordinator& coordinator_;
  std::mt19937 random_;
  const bool in_order_;
  const bool one_worker_;
  std::vector<Scheduled> pending_;
  std::int32_t applied_ = 0;
};

/// TFD_SEED=N runs that one alone.
void run_programs(int workers, std::size_t window, unsigned count) {
  Bed bed(workers);
  auto options = bed.options();
  options.window = window;
  const auto coordinator = bed.connect(make_program(), std::move(options));
  const char* only = std::getenv("TFD_SEED");
  const unsigned first = only == nullptr ? 1 : static_cast<unsigned>(std::atoi(only));
  for (unsigned seed = first; seed < first + (only == nullptr ? count : 1); ++seed) {
    INFO("TFD_SEED=" << seed);
    Program(*coordinator, seed, workers == 1 && window == 1, workers == 1).run(30);
  }
}

}  // namespace

TEST_CASE("random: programs on one worker do exactly what the queue's rules say") { run_programs(1, 1, 300); }

TEST_CASE("random: of what one worker has, nothing behind a failure is begun once it is told") {
  run_programs(1, 8, 300);
}

TEST_CASE("random: programs on several workers keep the queue's rules, whatever finishes first") {
  run_programs(3, 8, 300);
}
