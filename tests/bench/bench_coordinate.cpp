// SPDX-License-Identifier: Apache-2.0
//
// Closures a second over a cluster that is already there: trivial ones, and those that read a variable and add to it,
// of 1 000 floats and of 4 MiB; and the time from schedule to fetch.
//   tfd-serve --jobs worker=2,ps=1 --output spec.json & bench-coordinate spec.json tests/bench/closures/program.json
//   add_one
// Prints one JSON object. Not a test: it asserts nothing.
#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "closures.hpp"
#include "tfd/task/key.hpp"

using namespace tfd;
using namespace std::chrono_literals;

namespace {

constexpr int kRounds = 3;

/// Median, least and most of the rounds' closures a second, as fields of JSON: "NAME_per_s", "NAME_least", "NAME_most".
Result<std::string> rates(coordinator::ClusterCoordinator& coordinator, const coordinator::Call& what, const char* name,
                          int count) {
  TFD_TRY(bench::closures_per_second(coordinator, what, std::max(count / 10, 10)));  // warm-up
  std::vector<double> of_rounds;
  for (int round = 0; round < kRounds; ++round)
    of_rounds.push_back(TFD_TRY(bench::closures_per_second(coordinator, what, count)));
  std::ranges::sort(of_rounds);
  return fmt::format("\"{0}_per_s\": {1:.0f}, \"{0}_least\": {2:.0f}, \"{0}_most\": {3:.0f}", name,
                     of_rounds[kRounds / 2], of_rounds.front(), of_rounds.back());
}

Result<std::vector<double>> round_trips(coordinator::ClusterCoordinator& coordinator, const coordinator::Call& what,
                                        int count) {
  std::vector<double> times;
  for (int i = 0; i < count; ++i) {
    const auto start = Clock::now();
    const auto value = TFD_TRY(coordinator.schedule(what));
    TFD_TRY(value.fetch(Deadline::after(30s)));
    times.push_back(bench::seconds_since(start));
  }
  std::ranges::sort(times);
  return times;
}

Result<void> run(const bench::Trivial& subject) {
  coordinator::CoordinatorOptions options;
  options.keep_servers = true;
  options.make_endpoint = TFD_TRY(task::endpoints_under(std::nullopt, Environment::of_process()));
  const auto coordinator =
      TFD_TRY(coordinator::ClusterCoordinator::connect(subject.program, subject.config, std::move(options)));
  const coordinator::Call trivial = subject.call();
  const std::string closures = TFD_TRY(rates(*coordinator, trivial, "closures", subject.count));
  const std::string small = TFD_TRY(rates(*coordinator, {.function = "add_1000"}, "add_1000", subject.count / 10));
  const std::string large = TFD_TRY(rates(*coordinator, {.function = "add_4mib"}, "add_4mib", subject.count / 400));
  const auto times = TFD_TRY(round_trips(*coordinator, trivial, 2000));
  fmt::print("{{\"peer\": \"tfd\", {}, {}, {}, \"schedule_to_fetch_median_us\": {:.1f}, \"p99_us\": {:.1f}}}\n",
             closures, small, large, times[times.size() / 2] * 1e6, times[times.size() * 99 / 100] * 1e6);
  return {};
}

}  // namespace

int main(int argc, char** argv) { return bench::run_trivial("bench-coordinate", argc, argv, 200000, run); }
