// SPDX-License-Identifier: Apache-2.0
#include "tfd/strategy/device_training.hpp"

#include <algorithm>

#include "device_steps.hpp"
#include "tfd/step/memory_need.hpp"
#include "tfd/strategy/evaluator.hpp"
#include "tfd/train/data_start.hpp"
#include "tfd/train/epochs.hpp"
#include "tfd/train/train_loop.hpp"

namespace tfd::strategy {
namespace {

class DeviceDriver final : public train::StepDriver {
 public:
  DeviceDriver(const program::Program& program, const DeviceTrainingOptions& options)
      : program_(program), train_(*program.train), options_(options) {}

  train::TrainRole role() const override { return {.task = "local"}; }
  Result<train::StartResult> begin(const train::TrainStart& from) override;
  void describe(JsonLine& start) const override;
  Result<train::AdvanceResult> advance(train::StepControl& control) override;
  void wake() override {  // ask() is polled between steps, which may be waiting for data
    if (options_.train.interrupts->stopping()) stop_data_->request();
  }
  Result<train::EvaluationResult> evaluate(const variable::Checkpoint* of) override;
  Result<variable::Checkpoint> export_state() override;
  Result<void> import_state(const variable::Checkpoint& state) override;
  Result<void> use_averages() override;

 private:
  std::vector<variable::VariableState> initial_states() const;
  Result<std::vector<variable::VariableState>> states_of(task::NamedState state) const;
  Result<void> check_memory(const train::TrainStart& from) const;

  /// A step that is finished, or still running on the devices.
  struct Made {
    std::int64_t number = 0;
    DeviceSteps::Done done;
    std::vector<double> examples = {};  // examples of each replica that had data
  };
  Result<DeviceSteps::Inputs> take_inputs();
  Result<Made> make_step();
  /// Compiles the rest in the background after the first step.
  void compile_ahead();
  Result<std::vector<step::Metric>> metrics_of(Made& made) const;

  const program::Program& program_;
  const program::TrainDef& train_;
  const DeviceTrainingOptions& options_;
  const std::shared_ptr<const function::CommandStop> stop_data_ =  // shared with the runner, like the engine
      std::make_shared<const function::CommandStop>();
  std::shared_ptr<function::Engine> engine_;
  std::unique_ptr<step::ReplicaRunner> runner_;
  std::optional<DeviceSteps> steps_;
  /// Prefetched inputs of the next step, and the data's position before them.
  struct Ahead {
    step::DataPosition position;
    Result<DeviceSteps::Inputs> inputs;
  };
  std::optional<Ahead> ahead_;
  std::int64_t step_ = 0;
  std::int64_t iterations_ = 0;   // number of updates, as in checkpoints
  step::CompileAhead compiling_;  // uses the runner and the steps
};

/// States without values: initial values are made one by one while they are put on the devices.
std::vector<variable::VariableState> DeviceDriver::initial_states() const {
  std::vector<variable::VariableState> states;
  for (const program::VariableDef& variable : program_.variables) states.push_back({variable.name, {}, {}});
  return states;
}

/// Parses a checkpoint's state. Shares the tensors.
Result<std::vector<variable::VariableState>> DeviceDriver::states_of(task::NamedState state) const {
  variable::VariableStore store;
  store.set_optimizer(program_.rules);
  for (const program::VariableDef& variable : program_.variables)
    TFD_TRY(store.create(variable.name, tensor::Tensor::zeros(variable.spec.dtype, variable.spec.shape)));
  TFD_TRY(store.import_state(state));
  std::vector<variable::VariableState> states;
  for (std::size_t i = 0; i < store.size(); ++i) states.push_back(store.copy(i));
  return states;
}

// If devices use host memory, every replica has a copy there. Values from a checkpoint are moved, not copied.
Result<void> DeviceDriver::check_memory(const train::TrainStart& from) const {
  if (engine_->plugin().platform != "cpu") return {};
  auto free = find_free_memory();
  if (free && from.state != nullptr)
    for (const auto& [name, value] : from.state->state) free->count += value.byte_size();
  return step::check_memory(step::need_of_replicas(program_, options_.replicas),
                            options_.replicas == 1 ? "here" : fmt::format("for {} replicas here", options_.replicas),
                            free);
}

Result<train::StartResult> DeviceDriver::begin(const train::TrainStart& from) {
  if (options_.on_begin) options_.on_begin();
  engine_ = TFD_TRY(options_.make_engine());
  TFD_TRY(check_memory(from));
  step::ReplicaOptions with{.replicas = options_.replicas, .input = {}};
  with.data_root = options_.data_root;
  with.make_engine = [this]() -> Result<std::shared_ptr<function::Engine>> { return engine_; };
  with.command_environment = options_.command_environment;
  with.stop_data = stop_data_;
  with.log = options_.train.log;
  runner_ = TFD_TRY(step::ReplicaRunner::make(program_, with));
  steps_.emplace(
      program_, engine_,
      DeviceStepOptions{options_.replicas, options_.logical_devices, options_.step, options_.train.trace.get()});
  TFD_TRY(steps_->load(from.state != nullptr
                           ? TFD_TRY(states_of(std::exchange(from.state->state, {})), from.state->path)
                           : initial_states()));
  train::begin_data(*runner_, from.step > 0 ? from.state : nullptr, options_.train);
  step_ = iterations_ = from.step;
  return train::StartResult{.step = step_};
}

void DeviceDriver::describe(JsonLine& start) const {
  start.add("workers", 1).add("worker", 0).add("replicas", options_.replicas);
  start.add_raw("devices", fmt::format("[\"{}\"]", fmt::join(function::names_of_devices(*engine_), "\", \"")));
}

// If devices run asynchronously, the next step is started before this one's metrics are read.
Result<train::AdvanceResult> DeviceDriver::advance(train::StepControl& control) {
  std::optional<Made> last;  // isn't counted yet
  const auto count_last = [&]() -> Result<void> {
    if (!last) return {};
    const std::int64_t step = last->number + 1;
    auto metrics = TFD_TRY(metrics_of(*last));
    last.reset();
    return control.count({.step = step, .metrics = std::move(metrics)});
  };
  while (step_ < control.until() && control.ask() == train::LoopRequest::kContinue) {
    auto made = make_step();
    TFD_TRY(count_last());
    if (!made && made.error().code == Code::kCancelled && control.ask() == train::LoopRequest::kInterrupt)
      return train::AdvanceResult{.step = step_};
    if (!made && made.error().code == Code::kOutOfRange)
      return train::AdvanceResult{.step = step_, .end_of_data = std::move(made).error()};
    if (!made) return fail(std::move(made).error());
    ++step_;
    last = std::move(*made);
    if (!steps_->works_ahead())
      TFD_TRY(count_last());
    else if (step_ < control.until())
      ahead_ = Ahead{runner_->data_position(), take_inputs()};
  }
  TFD_TRY(count_last());
  return train::AdvanceResult{.step = step_};
}

/// Takes the next step's inputs.
Result<DeviceSteps::Inputs> DeviceDriver::take_inputs() {
  const train::Trace::Span span(options_.train.trace.get(), "data", 0, step_);
  const std::int64_t elements = train_.replicas == program::Replicas::kSplit ? 0 : options_.train.epoch_elements;
  const int most = elements == 0 ? 0 : train::elements_of_step(step_, elements, options_.replicas);
  auto inputs = TFD_TRY(runner_->take_inputs(train_.function, step_, most));
  if (!steps_->works_ahead()) return DeviceSteps::Inputs{.step = std::move(inputs)};
  return steps_->put(std::move(inputs));
}

Result<DeviceDriver::Made> DeviceDriver::make_step() {
  auto ahead = std::exchange(ahead_, std::nullopt);
  const auto inputs = TFD_TRY(ahead ? std::move(ahead->inputs) : take_inputs());
  Made made{.number = step_, .done = TFD_TRY(steps_->step(inputs, step_), train_.function)};
  const std::string& nonfinite = made.done.nonfinite;
  if (!nonfinite.empty() && program_.rules->on_nonfinite() == variable::OnNonfinite::kStop)
    return fail(Code::kInvalidArgument, "{}: the gradient of '{}' is not finite in step {}", train_.function, nonfinite,
                step_);
  if (!compiling_.has_begun()) compile_ahead();
  TFD_TRY(compiling_.check());
  ++iterations_;
  for (const auto& one : inputs.step.replicas) made.examples.push_back(one.examples);
  return made;
}

void DeviceDriver::compile_ahead() {
  auto left = steps_->left_to_compile();
  std::ranges::move(runner_->left_to_compile(train_.function), std::back_inserter(left));
  compiling_.begin(std::move(left));
}

Result<std::vector<step::Metric>> DeviceDriver::metrics_of(Made& made) const {
  TFD_TRY(DeviceSteps::read_metrics(made.done), train_.function);
  if (!made.done.nonfinite.empty())
    return std::vector<step::Metric>{{"skipped_steps", program::Reduce::kSum, program::Part::kWhole, 1}};
  step::MetricAccumulator sum;
  for (std::size_t i = 0; i < made.done.metrics.size(); ++i)
    sum.add(TFD_TRY(runner_->metrics_of(train_.function, made.done.metrics[i], made.examples[i])));
  return sum.parts();
}

Result<train::EvaluationResult> DeviceDriver::evaluate(const variable::Checkpoint* of) {
  const std::string& name = train_.evaluate->function;
  const program::FunctionDef& function = *program_.find_function(name);
  const auto variables =
      of != nullptr ? values_for(function, of->state) : TFD_TRY(steps_->values(variables_of(function)));
  const auto stop = [this] { return options_.train.interrupts->stopping(); };
  const train::Trace::Span span(options_.train.trace.get(), "evaluate", 0, step_);
  step::MetricAccumulator sum;
  sum.add(TFD_TRY(runner_->evaluate(name, variables, train_.evaluate->steps, stop)));
  return train::EvaluationResult{step_, sum.values()};
}

Result<variable::Checkpoint> DeviceDriver::export_state() {
  const train::Trace::Span span(options_.train.trace.get(), "save", 0, step_);
  variable::VariableStore names;
  names.set_optimizer(program_.rules);
  variable::Checkpoint checkpoint;
  checkpoint.state = names.name_state(TFD_TRY(steps_->states()), iterations_);
  checkpoint.step = step_;
  checkpoint.data_position = step::format_data_position(ahead_ ? ahead_->position : runner_->data_position());
  return checkpoint;
}

Result<void> DeviceDriver::import_state(const variable::Checkpoint& state) {
  compiling_.end();
  return steps_->load(TFD_TRY(states_of(state.state)));
}

Result<void> DeviceDriver::use_averages() {
  if (!program_.rules || !program_.rules->has_averages()) return {};
  auto states = TFD_TRY(steps_->states());
  for (variable::VariableState& one : states)
    if (!one.slots.empty()) program_.rules->use_average(one);
  compiling_.end();
  return steps_->load(std::move(states));
}

}  // namespace

Result<train::TrainSummary> train_on_devices(const program::Program& program, DeviceTrainingOptions options) {
  if (!program.train) return fail(Code::kInvalidArgument, "{}: no train block", program.path);
  if (!options.train.interrupts) options.train.interrupts = std::make_shared<train::Interrupts>();
  DeviceDriver driver(program, options);
  return train::run_train_loop(program, driver, options.train);
}

}  // namespace tfd::strategy
