// SPDX-License-Identifier: Apache-2.0
//
// Closures that wait at a worker behind one that takes long go to workers that have nothing to do.
#include "asking.hpp"

using namespace tfd;
using namespace tfd::bed;
using namespace tfd::coordinator;

namespace {

constexpr int kBehind = 7;

}  // namespace

TEST_CASE("balance: closures behind a long one are run by who has become idle") {
  Bed bed(2, 1);
  const auto coordinator = bed.connect(make_program(), bed.options());
  bed.gate.close();
  const RemoteValue first = schedule(*coordinator, "gated", {number(1)});
  const RemoteValue second = schedule(*coordinator, "gated", {number(1)});
  bed.gate.wait_for(2);
  std::vector<RemoteValue> behind;
  for (int i = 0; i < kBehind; ++i) behind.push_back(schedule(*coordinator, "add", {number(1)}));
  bed.gate.let_one_pass();
  for (const RemoteValue& value : behind) good(value.fetch(soon()));  // half of them waited behind the other
  until([&] { return coordinator->in_flight() == 1; });
  CHECK((first.state() == ClosureState::kReady) != (second.state() == ClosureState::kReady));
  bed.gate.open();
  good(coordinator->join(soon()));
  CHECK(read(*coordinator, "v") == 2 + kBehind);
}

TEST_CASE("balance: a worker that comes late gets what the first one was given") {
  Bed bed(2, 1);
  bed.kill("worker:1");
  const auto coordinator = bed.connect(make_program(), bed.options());
  bed.gate.close();
  const RemoteValue long_one = schedule(*coordinator, "gated", {number(1)});
  bed.gate.wait_for(1);
  std::vector<RemoteValue> behind;
  for (int i = 0; i < kBehind; ++i) behind.push_back(schedule(*coordinator, "add", {number(1)}));
  until([&] { return coordinator->queued() == 0; });
  bed.start("worker:1");
  for (const RemoteValue& value : behind) good(value.fetch(soon()));
  CHECK(long_one.state() == ClosureState::kNotReady);
  bed.gate.open();
  good(coordinator->join(soon()));
  CHECK(read(*coordinator, "v") == 1 + kBehind);
}

TEST_CASE("balance: a worker that dies while it gives back loses nothing and runs nothing twice") {
  for (int round = 0; round < 10; ++round) {
    CAPTURE(round);
    Bed bed(3, 2);
    CoordinatorOptions options = bed.options();
    options.balance_after = std::chrono::milliseconds(1);
    const auto coordinator = bed.connect(make_program(), std::move(options));
    bed.gate.close();
    for (int i = 0; i < 3; ++i) schedule(*coordinator, "gated", {number(1)});
    bed.gate.wait_for(3);
    for (int i = 0; i < 3 * kBehind; ++i) schedule(*coordinator, "add", {number(1)});
    until([&] { return coordinator->queued() == 0; });
    bed.gate.let_one_pass();
    bed.kill("worker:0");
    bed.gate.open();
    good(coordinator->join(soon()));
    CHECK(read(*coordinator, "v") == 3 + 3 * kBehind);
  }
}
