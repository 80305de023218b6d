// SPDX-License-Identifier: Apache-2.0
#include "tfd/base/wait_report.hpp"

#include <fmt/format.h>

#include "tfd/base/units.hpp"

namespace tfd {

std::string WaitReport::waited(Clock::time_point now) const {
  using std::chrono::floor, std::chrono::seconds, std::chrono::milliseconds;
  const Duration wait = now - since_;
  return format_duration(wait < seconds(1) ? Duration(floor<milliseconds>(wait)) : Duration(floor<seconds>(wait)));
}

std::string WaitReport::line(std::string_view what, Clock::time_point now) const {
  return fmt::format("waiting for {} ({} so far)", what, waited(now));
}

}  // namespace tfd
