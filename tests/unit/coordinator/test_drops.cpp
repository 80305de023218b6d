// SPDX-License-Identifier: Apache-2.0
//
// Closures that have not begun when another one fails: dropped wherever they wait, and their numbers released.
#include <future>
#include <random>
#include <set>

#include "asking.hpp"
#include "tfd/task/server_client.hpp"

using namespace tfd;
using namespace tfd::bed;
using namespace tfd::coordinator;

namespace {

constexpr std::size_t kWindow = 4;
constexpr int kMany = 30;

CoordinatorOptions with_window(Bed& bed) {
  CoordinatorOptions options = bed.options();
  options.window = kWindow;
  options.balance_after = std::chrono::hours(1);  // what waits at a worker stays there
  return options;
}

/// Three workers hold a closure at the gate and as many behind it as they may; others are queued.
struct Held {
  Bed& bed;
  std::unique_ptr<ClusterCoordinator> coordinator;
  std::vector<RemoteValue> gated, behind;

  explicit Held(Bed& on, CoordinatorOptions options)
      : bed(on), coordinator(bed.connect(make_program(), std::move(options))) {
    bed.gate.close();
    for (int i = 0; i < 3; ++i) gated.push_back(schedule(*coordinator, "gated", {number(1)}));
    bed.gate.wait_for(3);
    for (int i = 0; i < kMany; ++i) behind.push_back(schedule(*coordinator, "add", {number(1)}));
    until([this] { return coordinator->in_flight() == 3 * kWindow; });
  }
  /// Lets one closure pass the gate: its worker then runs those that the other two have no room for, then the failing
  /// one.
  RemoteValue one_fails() {
    RemoteValue bad = schedule(*coordinator, "fail", {number(7)});
    bed.gate.let_one_pass();
    return bad;
  }
  explicit Held(Bed& on) : Held(on, with_window(on)) {}

  static int count(const std::vector<RemoteValue>& values, ClosureState state) {
    return static_cast<int>(std::ranges::count(values, state, [](const RemoteValue& one) { return one.state(); }));
  }
};

}  // namespace

TEST_CASE("drops: what waits at its workers when another closure fails is never begun, and answered at once") {
  Bed bed(3, 2);
  Held held(bed);
  constexpr int kWaiting = 2 * (static_cast<int>(kWindow) - 1);
  CHECK(Held::count(held.behind, ClosureState::kNotReady) == kMany);
  const RemoteValue bad = held.one_fails();
  until([&] { return held.coordinator->in_flight() == 2; });  // only what is at the gate, which is still closed
  CHECK(bad.state() == ClosureState::kError);
  CHECK(Held::count(held.behind, ClosureState::kCancelled) == kWaiting);
  for (const RemoteValue& value : held.behind)
    if (value.state() == ClosureState::kCancelled) CHECK(value.cause() == bad.id());
  CHECK_FALSE(held.coordinator->join(Deadline::after(50ms)).has_value());  // something is executing: it doesn't raise
  bed.gate.open();
  const auto joined = held.coordinator->join(soon());
  REQUIRE_FALSE(joined);
  CHECK(joined.error().message.find("bad 7") != std::string::npos);
  CHECK(Held::count(held.gated, ClosureState::kReady) == 3);
  CHECK(read(*held.coordinator, "v") == 3 + kMany - kWaiting);
  good(held.coordinator->join(soon()));
  for (int i = 0; i < kMany; ++i) schedule(*held.coordinator, "add", {number(1)});  // and it is clean again
  good(held.coordinator->join(soon()));
  CHECK(read(*held.coordinator, "v") == 3 + 2 * kMany - kWaiting);
}

TEST_CASE("drops: with keep_going nothing is dropped") {
  Bed bed(3, 1);
  CoordinatorOptions options = with_window(bed);
  options.keep_going = true;
  Held held(bed, std::move(options));
  held.one_fails();
  bed.gate.open();
  good(held.coordinator->join(soon()));
  CHECK(Held::count(held.behind, ClosureState::kReady) == kMany);
  CHECK(read(*held.coordinator, "v") == 3 + kMany);
}

TEST_CASE("drops: a worker that dies while it is told to drop has its closures cancelled, not run elsewhere") {
  Bed bed(3, 2);
  Held held(bed);
  held.one_fails();
  bed.kill("worker:0");
  bed.gate.open();
  CHECK_FALSE(held.coordinator->join(soon()));
  const int ready = Held::count(held.behind, ClosureState::kReady) + Held::count(held.gated, ClosureState::kReady);
  CHECK(Held::count(held.behind, ClosureState::kNotReady) + Held::count(held.gated, ClosureState::kNotReady) == 0);
  // Where it was the one that left the gate, what it had just pushed counts, though nobody has its answer.
  const auto counted = read(*held.coordinator, "v");
  CHECK(counted >= ready);
  CHECK(counted <= ready + static_cast<int>(kWindow));
}

TEST_CASE("drops: what a worker that is cut off was to drop never reaches the variables") {
  Bed bed(3, 2);
  Held held(bed);
  bed.network->cut(Bed::address("worker:0"), true);
  held.one_fails();
  bed.gate.open();
  CHECK_FALSE(held.coordinator->join(soon()));
  const std::int32_t before = read(*held.coordinator, "v");
  bed.network->cut(Bed::address("worker:0"), false);
  until([&] { return held.coordinator->workers_up() == 3; });
  CHECK(read(*held.coordinator, "v") == before);
}

TEST_CASE("sequence: functions that touch parameter servers in turn are applied once each, though workers die") {
  Bed bed(3, 2);  // v is on one, n on the other
  CoordinatorOptions options = with_window(bed);
  options.stall_after = 20ms;  // how often it looks, too
  const auto coordinator = bed.connect(make_program(), std::move(options));
  std::int32_t v = 0, n = 0;
  for (int round = 0; round < 6; ++round) {
    const std::string victim = "worker:" + std::to_string(round % 3);
    for (int i = 0; i < 400; ++i) {
      const bool first = i % 2 == 0;
      (first ? v : n) += i;
      schedule(*coordinator, first ? "add" : "add_n", {number(i)});
      if (i == 200) bed.kill(victim);
    }
    good(coordinator->join(soon()));
    bed.start(victim);
    until([&] { return coordinator->workers_up() == 3; });
  }
  CHECK(read(*coordinator, "v") == v);
  CHECK(read(*coordinator, "n") == n);

  // The first one never gets the odd numbers: it is told in time that they are over, and need not wait for them.
  transport::EndpointOptions asks;
  asks.name = "asks";
  const auto endpoint = good(bed.factory()(std::move(asks)));
  const task::Placement placement = task::place_variables(make_program(), {{"ps:0", ""}, {"ps:1", ""}});
  const std::string name = "ps:" + std::to_string(placement.variables.at("v"));
  task::ServerClient server(*endpoint, endpoint->add_peer(name, Bed::address(name)), name);
  const auto ask = [&]<class T>(auto question) {
    auto answer = std::make_shared<std::promise<Result<T>>>();
    question([answer](Result<T> result) { answer->set_value(std::move(result)); });
    return good(answer->get_future().get());
  };
  const auto epoch = ask.operator()<task::TaskStatus>([&](auto done) { server.status(soon(), done); }).epoch;
  server.set_epoch(epoch);
  std::uint64_t odd = 1;
  until([&] {
    odd += 2;
    return !ask.operator()<task::UpdateAnswer>([&](auto done) { server.update(odd, {}, soon(), done); }).is_new;
  });
  CHECK(read(*coordinator, "v") == v);
}

TEST_CASE("drops: random programs with failing functions and dying workers: what is dropped is never applied") {
  for (unsigned seed = 1; seed <= 12; ++seed) {
    CAPTURE(seed);
    std::mt19937 random(seed);
    Bed bed(3, 2);
    const auto coordinator = bed.connect(make_program(), with_window(bed));
    std::int32_t applied = 0;
    for (int round = 0; round < 4; ++round) {
      std::vector<RemoteValue> values;
      std::vector<std::int32_t> numbers;
      const int fails_at = static_cast<int>(random() % 60);
      const std::string victim = "worker:" + std::to_string(random() % 3);
      const int killed_at = static_cast<int>(random() % 60);
      bool raised = false, killed = false;
      std::mutex mutex;
      std::set<std::size_t> moved;  // that a dying worker had: nobody knows how far they came
      for (int i = 0; i < 60 && !raised; ++i) {
        if (i == killed_at) {
          bed.kill(victim);
          killed = true;
        }
        const auto amount = static_cast<std::int32_t>(1 + random() % 9);
        Call call{.function = i == fails_at ? "fail" : "add", .args = {Argument(number(amount))}};
        call.on_moved = [&, i](const std::string&, const std::string&) {
          const std::scoped_lock lock(mutex);
          moved.insert(static_cast<std::size_t>(i));
        };
        auto value = coordinator->schedule(std::move(call), soon());
        raised = !value;
        if (!value) break;
        values.push_back(*value);
        numbers.push_back(amount);
      }
      if (!raised) raised = !coordinator->join(soon());
      CHECK(raised);
      std::set<std::int32_t> possible{0};  // sums of the moved ones among those that are canceled
      const std::scoped_lock lock(mutex);
      for (std::size_t i = 0; i < values.size(); ++i) {
        CHECK(values[i].state() != ClosureState::kNotReady);
        if (values[i].state() == ClosureState::kReady) applied += numbers[i];
        if (values[i].state() != ClosureState::kCancelled || !moved.contains(i)) continue;
        std::set<std::int32_t> more = possible;
        for (const std::int32_t sum : possible) more.insert(sum + numbers[i]);
        possible = std::move(more);
      }
      const std::int32_t now = read(*coordinator, "v");
      CHECK(possible.contains(now - applied));
      applied = now;
      if (killed) bed.start(victim);
      until([&] { return coordinator->workers_up() == 3; });
    }
  }
}
