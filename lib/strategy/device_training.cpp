// SPDX-License-Identifier: Apache-2.0
#include "tfd/strategy/device_training.hpp"

#include "data_start.hpp"
#include "device_steps.hpp"
#include "tfd/runtime/memory_need.hpp"
#include "tfd/strategy/epochs.hpp"
#include "tfd/strategy/evaluator.hpp"
#include "tfd/strategy/train_loop.hpp"
#include "tfd/variable/initializer.hpp"

namespace tfd::strategy {
namespace {

class DeviceDriver final : public StepDriver {
 public:
  DeviceDriver(const program::Program& program, const DeviceTrainingOptions& options)
      : program_(program), train_(*program.train), options_(options) {}

  TrainRole role() const override { return {.task = "local"}; }
  Result<Begun> begin(const Beginning& from) override;
  void describe(JsonLine& start) const override;
  Result<Advanced> advance(StepControl& control) override;
  void wake() override {}  // nothing waits for others; ask() is looked at between steps
  Result<Evaluated> evaluate(const variable::Checkpoint* of) override;
  Result<variable::Checkpoint> export_state() override;
  Result<void> import_state(const variable::Checkpoint& state) override;
  Result<void> use_averages() override;

 private:
  Result<std::vector<variable::VariableState>> initial_states() const;
  Result<std::vector<variable::VariableState>> states_of(const variable::Checkpoint& state) const;
  Result<std::vector<runtime::Metric>> one_step();
  Result<runtime::StepInputs> take_inputs(int most) {
    const Trace::Span span(options_.train.trace.get(), "data", 0, step_);
    return runner_->take_inputs(train_.function, step_, most);
  }

  const program::Program& program_;
  const program::TrainDef& train_;
  const DeviceTrainingOptions& options_;
  std::shared_ptr<function::Engine> engine_;  // with the runner
  std::unique_ptr<runtime::ReplicaRunner> runner_;
  std::optional<DeviceSteps> steps_;
  std::int64_t step_ = 0;
  std::int64_t iterations_ = 0;  // updates, as checkpoints have them
};

Result<std::vector<variable::VariableState>> DeviceDriver::initial_states() const {
  std::vector<variable::VariableState> states;
  for (const program::VariableDef& variable : program_.variables)
    states.push_back({variable.name,
                      TFD_TRY(variable::make_initial_value(variable.init, variable.spec), "variables." + variable.name),
                      {}});
  return states;
}

/// What a checkpoint has is understood in one place.
Result<std::vector<variable::VariableState>> DeviceDriver::states_of(const variable::Checkpoint& checkpoint) const {
  variable::VariableStore store;
  store.set_optimizer(program_.rules);
  for (const program::VariableDef& variable : program_.variables)
    TFD_TRY(store.create(variable.name, tensor::Tensor::zeros(variable.spec.dtype, variable.spec.shape)));
  TFD_TRY(store.import_state(checkpoint.state));
  std::vector<variable::VariableState> states;
  for (std::size_t i = 0; i < store.size(); ++i) states.push_back(store.copy(i));
  return states;
}

Result<Begun> DeviceDriver::begin(const Beginning& from) {
  TFD_TRY(runtime::check_memory(runtime::need_of(program_), "here"));
  if (options_.on_begin) options_.on_begin();
  engine_ = TFD_TRY(options_.make_engine());
  runtime::ReplicaOptions with{.replicas = options_.replicas, .input = {}};
  with.data_root = options_.data_root;
  with.make_engine = [this]() -> Result<std::shared_ptr<function::Engine>> { return engine_; };
  with.command_environment = options_.command_environment;
  with.left_out = {train_.function};
  runner_ = TFD_TRY(runtime::ReplicaRunner::make(program_, with));
  steps_.emplace(program_, engine_, options_.replicas, options_.train.trace.get());
  TFD_TRY(steps_->load(from.state != nullptr ? TFD_TRY(states_of(*from.state), from.state->path)
                                             : TFD_TRY(initial_states())));
  begin_data(*runner_, from.step > 0 ? from.state : nullptr, options_.train);
  step_ = iterations_ = from.step;
  return Begun{.step = step_};
}

void DeviceDriver::describe(JsonLine& start) const {
  start.add("workers", 1).add("worker", 0).add("replicas", options_.replicas);
  std::vector<std::string> devices;
  for (const function::DeviceInfo& one : engine_->devices())
    devices.push_back(fmt::format("{}:{}", engine_->plugin().platform, one.id));
  start.add_raw("devices", fmt::format("[\"{}\"]", fmt::join(devices, "\", \"")));
}

Result<Advanced> DeviceDriver::advance(StepControl& control) {
  while (step_ < control.until() && control.ask() == Ask::kNothing) {
    auto metrics = one_step();
    if (!metrics && metrics.error().code == Code::kOutOfRange)
      return Advanced{.step = step_, .end_of_data = std::move(metrics).error()};
    if (!metrics) return fail(std::move(metrics).error());
    ++step_;
    TFD_TRY(control.count({.step = step_, .metrics = std::move(*metrics)}));
  }
  return Advanced{.step = step_};
}

Result<std::vector<runtime::Metric>> DeviceDriver::one_step() {
  const std::int64_t elements = train_.replicas == program::Replicas::kSplit ? 0 : options_.train.epoch_elements;
  const int most = elements == 0 ? 0 : elements_of_step(step_, elements, options_.replicas);
  const auto inputs = TFD_TRY(take_inputs(most));
  const auto done = TFD_TRY(steps_->step(inputs, step_), train_.function);
  if (!done.nonfinite.empty() && program_.rules->on_nonfinite() == variable::OnNonfinite::kStop)
    return fail(Code::kInvalidArgument, "{}: the gradient of '{}' is not finite in step {}", train_.function,
                done.nonfinite, step_);
  ++iterations_;
  if (!done.nonfinite.empty())
    return std::vector<runtime::Metric>{{"skipped_steps", program::Reduce::kSum, program::Part::kWhole, 1}};
  runtime::MetricAccumulator sum;
  for (std::size_t i = 0; i < done.metrics.size(); ++i)
    sum.add(TFD_TRY(runner_->metrics_of(train_.function, done.metrics[i], inputs.replicas[i].examples)));
  return sum.parts();
}

Result<Evaluated> DeviceDriver::evaluate(const variable::Checkpoint* of) {
  const std::string& name = train_.evaluate->function;
  runtime::VariableValues variables;
  if (of != nullptr) {
    variables = values_for(*program_.find_function(name), of->state);
  } else {
    for (variable::VariableState& one : TFD_TRY(steps_->states())) variables.emplace(one.name, std::move(one.value));
  }
  const auto stop = [this] { return options_.train.interrupts->stopping(); };
  const Trace::Span span(options_.train.trace.get(), "evaluate", 0, step_);
  runtime::MetricAccumulator sum;
  sum.add(TFD_TRY(runner_->evaluate(name, variables, train_.evaluate->steps, stop)));
  return Evaluated{step_, sum.values()};
}

Result<variable::Checkpoint> DeviceDriver::export_state() {
  const Trace::Span span(options_.train.trace.get(), "save", 0, step_);
  variable::VariableStore names;
  names.set_optimizer(program_.rules);
  variable::Checkpoint checkpoint;
  checkpoint.state = names.name_state(TFD_TRY(steps_->states()), iterations_);
  checkpoint.step = step_;
  checkpoint.data_position = runtime::format_data_position(runner_->data_position());
  return checkpoint;
}

Result<void> DeviceDriver::import_state(const variable::Checkpoint& state) {
  return steps_->load(TFD_TRY(states_of(state)));
}

Result<void> DeviceDriver::use_averages() {
  if (!program_.rules || !program_.rules->has_averages()) return {};
  auto states = TFD_TRY(steps_->states());
  for (variable::VariableState& one : states)
    if (!one.slots.empty()) program_.rules->use_average(one);
  return steps_->load(std::move(states));
}

}  // namespace

Result<TrainSummary> train_on_devices(const program::Program& program, DeviceTrainingOptions options) {
  if (!program.train) return fail(Code::kInvalidArgument, "{}: no train block", program.path);
  if (!options.train.interrupts) options.train.interrupts = std::make_shared<Interrupts>();
  DeviceDriver driver(program, options);
  return run_train_loop(program, driver, options.train);
}

}  // namespace tfd::strategy
