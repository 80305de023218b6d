// SPDX-License-Identifier: Apache-2.0
//
// Costs of one call of a trivial function above XLA: two scalars in, one out, through Function::call and read in
// place. Prints wall and CPU time of the calling thread (on a busy machine only the second says something), best of
// five rounds.
#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <ctime>

#include "tfd/function/function.hpp"

namespace {

using namespace tfd;
using namespace tfd::function;
using tensor::DType;
using tensor::Tensor;

constexpr int kCalls = 20000;

double thread_cpu_us() {
  timespec time{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) * 1e6 + static_cast<double>(time.tv_nsec) / 1e3;
}

/// `call` runs the function once and returns its result as a number.
template <class Call>
bool measure(const char* what, Call call) {
  double wall_us = 1e9, cpu_us = 1e9;
  for (int round = 0; round < 5; ++round) {
    const double cpu = thread_cpu_us();
    const auto wall = std::chrono::steady_clock::now();
    for (int i = 0; i < kCalls; ++i)
      if (!call(i)) return false;
    wall_us = std::min(
        wall_us, std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - wall).count() / kCalls);
    cpu_us = std::min(cpu_us, (thread_cpu_us() - cpu) / kCalls);
  }
  fmt::print("{:<40} {:8.2f} us wall {:8.2f} us cpu\n", what, wall_us, cpu_us);
  return true;
}

Result<void> run() {
  EngineOptions options;
  options.plugin = TFD_TRY(find_plugin(Environment::of_process()));
  const auto engine = TFD_TRY(make_engine(options));
  const auto module =
      TFD_TRY(hlo::make_module("add",
                               "func.func @main(%a: tensor<i32>, %b: tensor<i32>) -> tensor<i32> {\n"
                               "  %0 = stablehlo.add %a, %b : tensor<i32>\n  return %0 : tensor<i32>\n}\n",
                               std::nullopt));
  const auto add = TFD_TRY(engine->compile(module));
  const Tensor one = Tensor::scalar(DType::kS32, std::int32_t{1});
  const bool right = measure("call, host tensors",
                             [&](std::int32_t i) {
                               const auto results = add->call({Tensor::scalar(DType::kS32, i), one});
                               return results && (*results)[0].as<std::int32_t>()[0] == i + 1;
                             }) &&
                     measure("call, results of another call", [&, sum = one](std::int32_t) mutable {
                       auto results = add->call({sum, sum});
                       if (results) sum = (*results)[0];
                       return results.has_value();
                     });
  if (!right) return fail(Code::kInternal, "a wrong result");
  return {};
}

}  // namespace

int main() {
  if (const auto done = run(); !done) {
    fmt::print(stderr, "bench-function: {}\n", done.error().message);
    return 1;
  }
  return 0;
}
