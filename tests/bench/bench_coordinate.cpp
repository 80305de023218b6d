// SPDX-License-Identifier: Apache-2.0
//
// Closures a second and the time from schedule to fetch, for a trivial function, over a cluster that is already there.
//   tfd-serve --jobs worker=2,ps=1 --output spec.json & bench-coordinate spec.json examples/counter/program.json
//   FUNCTION
// Prints one JSON object. Not a test: it asserts nothing.
#include <algorithm>
#include <vector>

#include "closures.hpp"

using namespace tfd;
using namespace std::chrono_literals;

namespace {

Result<std::vector<double>> round_trips(coordinator::ClusterCoordinator& coordinator, const bench::Trivial& what,
                                        int count) {
  std::vector<double> times;
  for (int i = 0; i < count; ++i) {
    const auto start = Clock::now();
    const auto value = TFD_TRY(coordinator.schedule({.function = what.function, .args = {what.one}}));
    TFD_TRY(value.fetch(Deadline::after(30s)));
    times.push_back(bench::seconds_since(start));
  }
  std::ranges::sort(times);
  return times;
}

Result<void> run(const bench::Trivial& what) {
  coordinator::CoordinatorOptions options;
  options.keep_servers = true;
  auto coordinator = TFD_TRY(coordinator::ClusterCoordinator::connect(what.program, what.config, std::move(options)));
  TFD_TRY(bench::closures_per_second(*coordinator, what, what.count / 10));  // warm-up
  const double rate = TFD_TRY(bench::closures_per_second(*coordinator, what, what.count));
  const auto times = TFD_TRY(round_trips(*coordinator, what, 2000));
  std::printf(
      "{\"peer\": \"tfd\", \"closures_per_s\": %.0f, \"schedule_to_fetch_median_us\": %.1f, \"p99_us\": %.1f}\n", rate,
      times[times.size() / 2] * 1e6, times[times.size() * 99 / 100] * 1e6);
  return {};
}

}  // namespace

int main(int argc, char** argv) { return bench::run_trivial("bench-coordinate", argc, argv, 200000, run); }
