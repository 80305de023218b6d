#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Code shared by the benchmarks of a coordinator: a trivial function over an existing cluster. Thread rule:
// each call blocks its thread.
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>

#include "tfd/base/file.hpp"
#include "tfd/coordinator/cluster_coordinator.hpp"

namespace tfd::bench {

inline double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

/// A function of one s64 number, of a program, and the cluster.
struct Trivial {
  cluster::ClusterConfig config;
  program::Program program;
  std::string function;
  int count = 0;  // closures

  coordinator::Call call() const {
    return {.function = function, .args = {tensor::Tensor::scalar(tensor::DType::kS64, std::int64_t{1})}};
  }
};

/// Makes the call so often, and waits for the last one; closures a second.
inline Result<double> closures_per_second(coordinator::ClusterCoordinator& coordinator, const coordinator::Call& call,
                                          int count) {
  const auto start = Clock::now();
  for (int i = 0; i < count; ++i) TFD_TRY(coordinator.schedule(call));
  TFD_TRY(coordinator.join(Deadline::after(std::chrono::seconds(300))));
  return count / seconds_since(start);
}

/// main() of NAME SPEC PROGRAM FUNCTION [COUNT].
inline int run_trivial(const char* name, int argc, char** argv, int count,
                       const std::function<Result<void>(const Trivial&)>& run) {
  if (argc < 4) {
    std::fprintf(stderr, "usage: %s SPEC PROGRAM FUNCTION [COUNT]\n", name);
    return 64;
  }
  const auto done = [&]() -> Result<void> {
    auto config = TFD_TRY(cluster::cluster_config_from_json(TFD_TRY(load_file(argv[1])), argv[1]));
    auto program = TFD_TRY(program::load_program(argv[2], {}));
    return run({std::move(config), std::move(program), argv[3], argc > 4 ? std::atoi(argv[4]) : count});
  }();
  if (done) return 0;
  std::fprintf(stderr, "%s: %s\n", name, done.error().message.c_str());
  return 1;
}

}  // namespace tfd::bench
