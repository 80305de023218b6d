// SPDX-License-Identifier: Apache-2.0
//
// Costs of a step beside its computation, with variables in this process: a tiny program, 800 scalar variables, and a
// gradient of 4 MiB whose batch two replicas share evenly (a plain mean) or not (one that is weighted). Prints
// microseconds of wall and of CPU time of the process, on a busy machine only the second says something; the best of
// some rounds, and how they compare. bench-steps [ROUNDS]
#include <fmt/core.h>
#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>

#include "tfd/base/environment.hpp"
#include "tfd/step/replica_runner.hpp"

namespace {

using namespace tfd;

struct Source {
  std::string document;
  std::map<std::string, std::string> modules;
};

struct Cost {
  double wall_us = 1e12;
  double cpu_us = 1e12;
};

/// `count` scalar variables, each with a gradient.
Source scalars(int count) {
  std::string variables, arguments, body, results, inputs, outputs, returned;
  for (int i = 0; i < count; ++i) {
    const std::string comma = i > 0 ? ", " : "";
    const std::string name = fmt::format("layers/dense_{}/kernel", i);
    variables += fmt::format(R"({}"{}": {{"shape": [], "init": {{"ones": {{}}}}}})", comma, name);
    inputs += fmt::format(R"({}{{"variable": "{}"}})", comma, name);
    outputs += fmt::format(R"({}{{"gradient": "{}"}})", comma, name);
    arguments += fmt::format("{}%w{}: tensor<f32>", comma, i);
    body += fmt::format("  %g{} = stablehlo.multiply %w{}, %c : tensor<f32>\n", i, i);
    returned += fmt::format("{}%g{}", comma, i);
    results += comma + "tensor<f32>";
  }
  return {fmt::format(R"({{"v": 1, "variables": {{{}}}, "optimizer": {{"sgd": {{"learning_rate": 0.001}}}},
  "functions": {{"step": {{"module": "step.mlir", "inputs": [{}], "outputs": [{}]}}}}}})",
                      variables, inputs, outputs),
          {{"step.mlir", fmt::format("module {{\nfunc.func public @main({}) -> ({}) {{\n"
                                     "  %c = stablehlo.constant dense<0.5> : tensor<f32>\n{}  return {} : {}\n}}\n}}\n",
                                     arguments, results, body, returned, results)}}};
}

/// One variable of 4 MiB; two replicas share batches of `batch` rows.
Source large(int batch) {
  constexpr std::string_view kDocument =
      R"({{"v": 1, "variables": {{"w": {{"shape": [1048576], "init": {{"ones": {{}}}}}}}},
  "optimizer": {{"sgd": {{"learning_rate": 0.001}}}},
  "datasets": {{"d": [{{"tensor_slices": {{"fields": {{"x": [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0]}}}}}},
                      {{"repeat": {{}}}}, {{"batch": {{"size": {}, "drop_remainder": true}}}}]}},
  "functions": {{"step": {{"module": [{}], "inputs": [{{"variable": "w"}}, {{"dataset": "d", "field": "x"}}],
                           "outputs": [{{"gradient": "w"}}]}}}},
  "train": {{"function": "step", "replicas": "split", "steps": 1}}}})";
  constexpr std::string_view kModule = R"(module {{
func.func public @main(%w: tensor<1048576xf32>, %x: tensor<{0}xf32>) -> tensor<1048576xf32> {{
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %sum = stablehlo.reduce(%x init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<{0}xf32>, tensor<f32>) -> tensor<f32>
  %all = stablehlo.broadcast_in_dim %sum, dims = [] : (tensor<f32>) -> tensor<1048576xf32>
  %g = stablehlo.multiply %w, %all : tensor<1048576xf32>
  return %g : tensor<1048576xf32>
}}
}})";
  Source out;
  std::string names;
  for (const int rows : {batch / 2, (batch + 1) / 2}) {
    const std::string name = fmt::format("step{}.mlir", rows);
    if (!out.modules.emplace(name, fmt::format(kModule, rows)).second) continue;
    names += fmt::format("{}\"{}\"", names.empty() ? "" : ", ", name);
  }
  out.document = fmt::format(kDocument, batch, names);
  return out;
}

double cpu_us() {
  rusage used{};
  ::getrusage(RUSAGE_SELF, &used);
  const auto us = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) * 1e6 + static_cast<double>(time.tv_usec);
  };
  return us(used.ru_utime) + us(used.ru_stime);
}

/// Steps as a strategy without parameter servers does them.
class Trainer {
 public:
  Result<void> make(const Source& source, int replicas) {
    const auto read = [&](const std::string& path) -> Result<std::string> { return source.modules.at(path); };
    program_ = TFD_TRY(program::parse_program(source.document, "bench.json", "/", read, {}));
    step::ReplicaOptions options;
    options.replicas = replicas;
    options.make_engine = [replicas]() -> Result<std::shared_ptr<function::Engine>> {
      function::EngineOptions engine;
      engine.plugin = TFD_TRY(function::find_plugin(Environment::of_process()));
      engine.device_count = replicas;
      return function::make_engine(engine);
    };
    runner_ = TFD_TRY(step::ReplicaRunner::make(program_, options));
    store_.set_optimizer(program_.rules);
    for (const program::VariableDef& variable : program_.variables)
      TFD_TRY(store_.create(variable.name, tensor::Tensor::zeros(variable.spec.dtype, variable.spec.shape)));
    return {};
  }
  Result<void> steps(int count) {
    for (int i = 0; i < count; ++i, ++step_) {
      step::VariableValues values;
      for (const program::VariableDef& variable : program_.variables)
        values.emplace(variable.name, TFD_TRY(store_.read(variable.name)));
      const auto done = TFD_TRY(runner_->step("step", values, step_));
      TFD_TRY(store_.apply(static_cast<std::uint64_t>(step_), done.updates));
    }
    return {};
  }

 private:
  program::Program program_;
  std::unique_ptr<step::ReplicaRunner> runner_;
  variable::VariableStore store_;
  std::int64_t step_ = 0;
};

Result<Cost> cost_of(const char* what, const Source& source, int replicas, int steps, int rounds) {
  Trainer trainer;
  TFD_TRY(trainer.make(source, replicas), what);
  TFD_TRY(trainer.steps(steps / 4 + 1), what);
  Cost best;
  for (int round = 0; round < rounds; ++round) {
    const double cpu = cpu_us();
    const auto wall = std::chrono::steady_clock::now();
    TFD_TRY(trainer.steps(steps), what);
    const std::chrono::duration<double, std::micro> took = std::chrono::steady_clock::now() - wall;
    best.wall_us = std::min(best.wall_us, took.count() / steps);
    best.cpu_us = std::min(best.cpu_us, (cpu_us() - cpu) / steps);
  }
  fmt::print("{:<34} {} replica{} {:10.1f} us wall {:10.1f} us cpu\n", what, replicas, replicas == 1 ? " " : "s",
             best.wall_us, best.cpu_us);
  return best;
}

void compare(const char* what, const Cost& one, const Cost& other) {
  fmt::print("{:<45} {:10.2f} wall    {:10.2f} cpu\n", what, one.wall_us / other.wall_us, one.cpu_us / other.cpu_us);
}

Result<void> run(int rounds) {
  const Cost one = TFD_TRY(cost_of("a tiny program", scalars(1), 1, 1000, rounds));
  const Cost two = TFD_TRY(cost_of("a tiny program", scalars(1), 2, 1000, rounds));
  const Cost four = TFD_TRY(cost_of("a tiny program", scalars(1), 4, 1000, rounds));
  const Cost many = TFD_TRY(cost_of("800 variables", scalars(800), 1, 50, rounds));
  const Cost twice = TFD_TRY(cost_of("800 variables", scalars(800), 2, 50, rounds));
  const Cost even = TFD_TRY(cost_of("4 MiB, an even split", large(4), 2, 30, rounds));
  const Cost uneven = TFD_TRY(cost_of("4 MiB, an uneven split", large(3), 2, 30, rounds));
  compare("a tiny program, 2 replicas by 1", two, one);
  compare("a tiny program, 4 replicas by 1", four, one);
  compare("800 variables, 2 replicas by 1", twice, many);
  compare("4 MiB, an uneven split by an even one", uneven, even);
  return {};
}

}  // namespace

int main(int argc, char** argv) {
  if (const auto done = run(argc > 1 ? std::atoi(argv[1]) : 5); !done) {
    fmt::print(stderr, "bench-steps: {}\n", done.error().message);
    return 1;
  }
  return 0;
}
