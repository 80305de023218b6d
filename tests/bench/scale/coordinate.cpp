// SPDX-License-Identifier: Apache-2.0
//
// What a coordinator of many workers costs: its time to connect, and its processor time for a trivial closure.
//   bench-scale SPEC PROGRAM FUNCTION [COUNT]
// Prints one JSON object. Not a test: it asserts nothing.
#include <sys/resource.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "tfd/base/descriptors.hpp"
#include "tfd/base/file.hpp"
#include "tfd/coordinator/cluster_coordinator.hpp"
#include "tfd/task/key.hpp"

using namespace tfd;
using namespace std::chrono_literals;

namespace {

constexpr int kRounds = 3;

double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

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

Result<void> run(const std::string& spec, const std::string& path, const std::string& function, int count) {
  raise_descriptor_limit();
  const auto config = TFD_TRY(cluster::cluster_config_from_json(TFD_TRY(load_file(spec)), spec));
  const auto program = TFD_TRY(program::load_program(path, {}));
  const int workers = static_cast<int>(TFD_TRY(config.cluster.num_tasks("worker")));
  coordinator::CoordinatorOptions options;
  options.keep_servers = options.take_over = true;
  options.make_endpoint = TFD_TRY(task::endpoints_under(std::nullopt, Environment::of_process()));
  const auto began = Clock::now();
  const auto coordinator = TFD_TRY(coordinator::ClusterCoordinator::connect(program, config, std::move(options)));
  while (coordinator->workers_up() < workers && seconds_since(began) < 120) std::this_thread::sleep_for(5ms);
  const double up_s = seconds_since(began), up_cpu_s = processor_seconds();
  const tensor::Tensor one = tensor::Tensor::scalar(tensor::DType::kS64, std::int64_t{1});
  std::vector<double> costs, rates;
  for (int round = 0; round < kRounds; ++round) {
    const auto start = Clock::now();
    const double before = processor_seconds();
    for (int i = 0; i < count; ++i) TFD_TRY(coordinator->schedule({.function = function, .args = {one}}));
    TFD_TRY(coordinator->join(Deadline::after(300s)));
    costs.push_back((processor_seconds() - before) / count * 1e6);
    rates.push_back(count / seconds_since(start));
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

int main(int argc, char** argv) {
  if (argc < 4) {
    std::fprintf(stderr, "usage: bench-scale SPEC PROGRAM FUNCTION [COUNT]\n");
    return 64;
  }
  const auto done = run(argv[1], argv[2], argv[3], argc > 4 ? std::atoi(argv[4]) : 100000);
  if (done) return 0;
  std::fprintf(stderr, "bench-scale: %s\n", done.error().message.c_str());
  return 1;
}
