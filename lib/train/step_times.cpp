// SPDX-License-Identifier: Apache-2.0
#include "tfd/train/step_times.hpp"

#include <algorithm>

namespace tfd::train {
namespace {

Duration median(std::vector<Duration> times) {
  const auto middle = times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2);
  std::ranges::nth_element(times, middle);
  return *middle;
}

}  // namespace

std::optional<StepTime> StepTimes::typical(int replicas) const {
  if (wants_more()) return std::nullopt;
  return StepTime{replicas, median(all_), median(computing_)};
}

}  // namespace tfd::train
