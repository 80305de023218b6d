// SPDX-License-Identifier: Apache-2.0
//
// Closures a second and the time from schedule to fetch, for a trivial function, over a cluster that is already there.
//   tfd-serve --jobs worker=2,ps=1 --output spec.json & bench-coordinate spec.json examples/counter/program.json
//   FUNCTION
// Prints one JSON object. Not a test: it asserts nothing.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "tfd/base/file.hpp"
#include "tfd/coordinator/cluster_coordinator.hpp"

using namespace tfd;
using namespace std::chrono_literals;

namespace {

double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

Result<double> closures_per_second(coordinator::ClusterCoordinator& coordinator, const std::string& function,
                                   int count) {
  const auto start = Clock::now();
  const tensor::Tensor one = tensor::Tensor::scalar(tensor::DType::kS64, std::int64_t{1});
  for (int i = 0; i < count; ++i) TFD_TRY(coordinator.schedule({.function = function, .args = {one}}));
  TFD_TRY(coordinator.join(Deadline::after(300s)));
  return count / seconds_since(start);
}

Result<std::vector<double>> round_trips(coordinator::ClusterCoordinator& coordinator, const std::string& function,
                                        int count) {
  std::vector<double> times;
  const tensor::Tensor one = tensor::Tensor::scalar(tensor::DType::kS64, std::int64_t{1});
  for (int i = 0; i < count; ++i) {
    const auto start = Clock::now();
    const auto value = TFD_TRY(coordinator.schedule({.function = function, .args = {one}}));
    TFD_TRY(value.fetch(Deadline::after(30s)));
    times.push_back(seconds_since(start));
  }
  std::ranges::sort(times);
  return times;
}

Result<void> run(const std::string& spec, const std::string& path, const std::string& function, int count) {
  const auto config = TFD_TRY(cluster::cluster_config_from_json(TFD_TRY(load_file(spec)), spec));
  const auto program = TFD_TRY(program::load_program(path, {}));
  coordinator::CoordinatorOptions options;
  options.keep_servers = true;
  auto coordinator = TFD_TRY(coordinator::ClusterCoordinator::connect(program, config, std::move(options)));
  TFD_TRY(closures_per_second(*coordinator, function, count / 10));  // warm-up
  const double rate = TFD_TRY(closures_per_second(*coordinator, function, count));
  const auto times = TFD_TRY(round_trips(*coordinator, function, 2000));
  std::printf(
      "{\"peer\": \"tfd\", \"closures_per_s\": %.0f, \"schedule_to_fetch_median_us\": %.1f, \"p99_us\": %.1f}\n", rate,
      times[times.size() / 2] * 1e6, times[times.size() * 99 / 100] * 1e6);
  return {};
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 4) {
    std::fprintf(stderr, "usage: bench-coordinate SPEC PROGRAM FUNCTION [COUNT]\n");
    return 64;
  }
  const auto done = run(argv[1], argv[2], argv[3], argc > 4 ? std::atoi(argv[4]) : 200000);
  if (done) return 0;
  std::fprintf(stderr, "bench-coordinate: %s\n", done.error().message.c_str());
  return 1;
}
