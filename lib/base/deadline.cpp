// SPDX-License-Identifier: Apache-2.0
#include "tfd/base/deadline.hpp"

#include <algorithm>
#include <limits>

namespace tfd {

Deadline Deadline::after(Duration duration) {
  const auto now = Clock::now();
  if (duration >= Clock::time_point::max() - now) return never();
  return Deadline(now + duration);
}

Duration Deadline::remaining() const {
  if (is_never()) return Duration::max();
  return std::max(Duration::zero(), Duration(when_ - Clock::now()));
}

int Deadline::poll_ms() const {
  if (is_never()) return -1;
  const auto ms = std::chrono::ceil<std::chrono::milliseconds>(remaining()).count();
  return static_cast<int>(std::min<long long>(ms, std::numeric_limits<int>::max()));
}

}  // namespace tfd
