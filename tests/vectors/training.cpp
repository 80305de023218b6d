// SPDX-License-Identifier: Apache-2.0
#include "training.hpp"

#include <cstdlib>

#include "device/device_steps.hpp"
#include "tfd/task/task_client.hpp"
#include "tfd/variable/store.hpp"

namespace tfd::vectors {
namespace {

using step::ReplicaRunner;
using variable::VariableState;

/// One for all cases with as many replicas.
Result<std::shared_ptr<function::Engine>> engine_of(int replicas) {
  static std::map<int, std::shared_ptr<function::Engine>> engines;
  auto& engine = engines[replicas];
  if (engine != nullptr) return engine;
  ::setenv("TF_CPP_MIN_LOG_LEVEL", "3", 0);
  const std::string plugin = TFD_TRY(function::find_plugin(Environment::of_process()));
  engine = TFD_TRY(function::make_engine({.plugin = plugin, .cache_directory = "", .device_count = replicas}));
  return engine;
}

Result<std::vector<VariableState>> initial_states(const program::Program& program) {
  std::vector<VariableState> out;
  variable::CheckpointFiles files;
  for (const program::VariableDef& one : program.variables)
    out.push_back({one.name, TFD_TRY(program::make_initial_value(one, files)), {}});
  return out;
}

Result<std::unique_ptr<ReplicaRunner>> runner_of(const program::Program& program, int replicas) {
  step::ReplicaOptions options{.replicas = replicas, .input = {}};
  options.make_engine = [replicas] { return engine_of(replicas); };
  return ReplicaRunner::make(program, options);
}

class OnDevices final : public Training {
 public:
  OnDevices(const program::Program& program, std::unique_ptr<ReplicaRunner> runner,
            std::shared_ptr<function::Engine> engine, const strategy::DeviceStepOptions& options)
      : program_(program), runner_(std::move(runner)), steps_(program, std::move(engine), options) {}

  Result<void> load() { return steps_.load(TFD_TRY(initial_states(program_))); }
  Result<Step> step() override {
    const std::string& name = program_.train->function;
    auto inputs = TFD_TRY(runner_->take_inputs(name, number_));
    std::vector<double> examples;
    for (const auto& one : inputs.replicas) examples.push_back(one.examples);
    auto done = TFD_TRY(steps_.step({.step = std::move(inputs)}, number_++));
    TFD_TRY(strategy::DeviceSteps::read_metrics(done));
    step::MetricAccumulator sum;
    Step out;
    for (std::size_t i = 0; i < done.metrics.size(); ++i) {
      sum.add(TFD_TRY(runner_->metrics_of(name, done.metrics[i], examples[i])));
      for (std::size_t k = 0; k < done.metrics[i].size(); ++k)
        out.metrics_equal = out.metrics_equal && tensor::same_bytes(done.metrics[i][k], done.metrics.front()[k]);
    }
    out.metrics = sum.values();
    return out;
  }
  Result<std::vector<VariableState>> states() override { return steps_.states(); }

 private:
  const program::Program& program_;
  std::unique_ptr<ReplicaRunner> runner_;
  strategy::DeviceSteps steps_;
  std::int64_t number_ = 0;
};

class OnHost final : public Training {
 public:
  OnHost(const program::Program& program, std::unique_ptr<ReplicaRunner> runner)
      : program_(program), runner_(std::move(runner)) {}

  Result<void> load() {
    store_.set_optimizer(program_.rules);
    for (VariableState& one : TFD_TRY(initial_states(program_)))
      TFD_TRY(store_.create(std::move(one.name), std::move(one.value)));
    return {};
  }
  Result<Step> step() override {
    const std::string& name = program_.train->function;
    step::VariableValues values;
    for (const std::string& one : program_.find_function(name)->variables_read())
      values.emplace(one, TFD_TRY(store_.read(one)));
    const auto outcome = TFD_TRY(runner_->step(name, values, number_));
    TFD_TRY(store_.apply(static_cast<std::uint64_t>(number_++), outcome.updates));
    step::MetricAccumulator sum;
    sum.add(outcome.metrics);
    return Step{.metrics = sum.values()};
  }
  Result<std::vector<VariableState>> states() override {
    std::vector<VariableState> out;
    for (std::size_t i = 0; i < store_.size(); ++i) out.push_back(store_.copy(i));
    return out;
  }

 private:
  const program::Program& program_;
  std::unique_ptr<ReplicaRunner> runner_;
  variable::VariableStore store_;
  std::int64_t number_ = 0;
};

}  // namespace

const std::vector<TrainingWay>& training_ways() {
  static const std::vector<TrainingWay> ways{
      {"threads", strategy::StepMode::kThreads}, {"fused", strategy::StepMode::kFused}, {"host", std::nullopt}};
  return ways;
}

Result<program::Program> parse_training(const Json& document, const Modules& modules, int replicas, Compat compat) {
  const auto read = [&](const std::string& path) -> Result<std::string> { return modules.at(path); };
  program::ProgramOptions options;
  options.replicas = replicas;
  options.compat = compat;
  return program::parse_program(document.dump(), "case", "/", read, options);
}

Result<std::unique_ptr<Training>> Training::begin(const program::Program& program, int replicas,
                                                  const TrainingWay& way) {
  auto runner = TFD_TRY(runner_of(program, replicas));
  if (!way.devices) {
    auto out = std::make_unique<OnHost>(program, std::move(runner));
    TFD_TRY(out->load());
    return out;
  }
  if (const auto why_not = strategy::why_not_on_devices(program))
    return fail(Code::kFailedPrecondition, "{}", *why_not);
  auto engine = TFD_TRY(engine_of(replicas));
  auto out = std::make_unique<OnDevices>(
      program, std::move(runner), std::move(engine),
      strategy::DeviceStepOptions{.replicas = step::ReplicaRange::whole(replicas), .way = *way.devices});
  TFD_TRY(out->load());
  return out;
}

}  // namespace tfd::vectors
