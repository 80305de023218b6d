// SPDX-License-Identifier: Apache-2.0
//
// Costs of a coordinator of many workers: its time to connect, and its processor time for a trivial closure.
//   bench-scale SPEC PROGRAM FUNCTION [COUNT]
// Prints one JSON object. Not a test: it asserts nothing.
#include <sys/resource.h>

#include <algorithm>
#include <fstream>
#include <thread>
#include <vector>

#include "../closures.hpp"
#include "tfd/base/descriptors.hpp"
#include "tfd/task/key.hpp"

using namespace tfd;
using namespace std::chrono_literals;

namespace {

constexpr int kRounds = 3;
constexpr auto kUp = 300s;  // for ten thousand workers on a busy machine

double processor_seconds() {
  rusage used{};
  ::getrusage(RUSAGE_SELF, &used);
  const auto seconds = [](const timeval& one) {
    return static_cast<double>(one.tv_sec) + static_cast<double>(one.tv_usec) * 1e-6;
  };
  return seconds(used.ru_utime) + seconds(used.ru_stime);
}

long resident_mib() {
  long size = 0, resident = 0;
  std::ifstream("/proc/self/statm") >> size >> resident;
  return resident * 4096 >> 20;
}

Result<void> run(const bench::Trivial& what) {
  raise_descriptor_limit();
  const int workers = static_cast<int>(TFD_TRY(what.config.cluster.num_tasks("worker")));
  coordinator::CoordinatorOptions options;
  options.keep_servers = options.take_over = true;
  options.connect_timeout = kUp;
  options.make_endpoint = TFD_TRY(task::endpoints_under(std::nullopt, Environment::of_process()));
  const auto began = Clock::now();
  const auto coordinator =
      TFD_TRY(coordinator::ClusterCoordinator::connect(what.program, what.config, std::move(options)));
  // Asked now and then: on_worker tells of those that are lost and come back, not of the first time.
  while (coordinator->workers_up() < workers && Clock::now() - began < kUp) std::this_thread::sleep_for(5ms);
  const double up_s = bench::seconds_since(began), up_cpu_s = processor_seconds();
  std::vector<double> costs, rates;
  for (int round = 0; round < kRounds; ++round) {
    const double before = processor_seconds();
    rates.push_back(TFD_TRY(bench::closures_per_second(*coordinator, what.call(), what.count)));
    costs.push_back((processor_seconds() - before) / what.count * 1e6);
  }
  std::ranges::sort(costs);
  std::ranges::sort(rates);
  std::printf(
      "{\"workers\": %d, \"up\": %d, \"up_s\": %.2f, \"up_cpu_s\": %.2f, \"closure_cpu_us\": %.1f, "
      "\"closures_per_s\": %.0f, \"rss_mib\": %ld}\n",
      workers, coordinator->workers_up(), up_s, up_cpu_s, costs[kRounds / 2], rates[kRounds / 2], resident_mib());
  return {};
}

}  // namespace

int main(int argc, char** argv) { return bench::run_trivial("bench-scale", argc, argv, 100000, run); }
