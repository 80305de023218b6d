// SPDX-License-Identifier: Apache-2.0
//
// Times of steps, and when several replicas are slower than one.
#include <doctest/doctest.h>

#include "tfd/train/step_times.hpp"

namespace tfd::train {
namespace {

using std::chrono::microseconds;

StepTimes of(Duration all, Duration computing, std::size_t steps = StepTimes::kSteps) {
  StepTimes out;
  for (std::size_t i = 0; i < StepTimes::kSkipped; ++i) out.add(std::chrono::seconds(9), std::chrono::seconds(8));
  for (std::size_t i = 0; i < steps; ++i) out.add(all, computing);
  return out;
}

TEST_CASE("step times: typical ones are known after a hundred steps, without those that compile") {
  CHECK_FALSE(of(microseconds(4), microseconds(2), StepTimes::kSteps - 1).typical(2));
  StepTimes times = of(microseconds(4000), microseconds(200));
  CHECK_FALSE(times.wants_more());
  const auto typical = times.typical(2);
  REQUIRE(typical);
  CHECK(typical->all == microseconds(4000));
  CHECK(typical->computing == microseconds(200));
  CHECK(typical->replicas == 2);
  times.restart();
  CHECK_FALSE(times.typical(2));
}

TEST_CASE("step times: a few slow steps don't count") {
  StepTimes times = of(microseconds(40), microseconds(30), 60);
  while (times.wants_more()) times.add(std::chrono::seconds(1), microseconds(30));
  CHECK(times.typical(2)->all == microseconds(40));
}

TEST_CASE("step times: one replica is faster if computing for all takes less than a step, by far") {
  const auto is_slower = [](int replicas, Duration all, Duration computing) {
    return of(all, computing).typical(replicas)->is_slower_than_one();
  };
  CHECK(is_slower(2, microseconds(4000), microseconds(200)));
  CHECK_FALSE(is_slower(1, microseconds(4000), microseconds(200)));
  CHECK_FALSE(is_slower(8, microseconds(2400), microseconds(200)));  // one takes 1.6 ms
  CHECK(is_slower(8, microseconds(2401), microseconds(200)));
  CHECK_FALSE(is_slower(2, microseconds(250), microseconds(200)));
}

}  // namespace
}  // namespace tfd::train
