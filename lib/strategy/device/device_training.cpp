// SPDX-License-Identifier: Apache-2.0
#include "tfd/strategy/device_training.hpp"

#include <algorithm>

#include "device_trainer.hpp"
#include "tfd/base/text.hpp"
#include "tfd/function/devices.hpp"
#include "tfd/train/train_loop.hpp"

namespace tfd::strategy {
namespace {

class DeviceDriver final : public train::StepDriver {
 public:
  DeviceDriver(const program::Program& program, const DeviceTrainingOptions& options)
      : options_(options), trainer_(program, options) {}

  train::TrainRole role() const override { return {.task = "local", .has_gradient_norm = true}; }
  Result<train::StartResult> begin(const train::TrainStart& from) override;
  void describe(JsonLine& start) const override;
  Result<train::AdvanceResult> advance(train::StepControl& control) override;
  void wake() override {  // ask() is polled between steps, which may be waiting for data
    if (options_.train.interrupts->stopping()) trainer_.stop_data();
  }
  Result<train::EvaluationResult> evaluate(const variable::Checkpoint* of) override;
  Result<variable::Checkpoint> export_state() override { return trainer_.export_state(); }
  Result<void> import_state(const variable::Checkpoint& state) override { return trainer_.import_state(state.state); }
  Result<void> use_averages() override { return trainer_.use_averages(); }
  std::optional<train::StepTime> step_time() const override { return trainer_.steps().step_time(); }

 private:
  Result<DeviceTrainer::Made> make_step() {
    const auto inputs = TFD_TRY(trainer_.take_inputs());
    return trainer_.make_step(inputs);
  }

  const DeviceTrainingOptions& options_;
  DeviceTrainer trainer_;
};

Result<train::StartResult> DeviceDriver::begin(const train::TrainStart& from) {
  if (options_.on_begin) options_.on_begin();
  if (from.state != nullptr && from.state->replicas > 0 && from.state->replicas != options_.replicas)
    options_.train.log.warning("{}: the checkpoint's training had {}: the results differ from here on",
                               counted(static_cast<std::uint64_t>(options_.replicas), "replica"), from.state->replicas);
  TFD_TRY(trainer_.open({step::ReplicaRange::whole(options_.replicas), options_.replicas}, from));
  return train::StartResult{.step = trainer_.step(), .replicas = options_.replicas};
}

void DeviceDriver::describe(JsonLine& start) const {
  start.add("workers", 1).add("worker", 0).add("replicas", options_.replicas);
  start.add_raw("devices", fmt::format("[\"{}\"]", fmt::join(function::names_of_devices(trainer_.engine()), "\", \"")));
}

// If devices run asynchronously, the next step is started before this one's metrics are read.
Result<train::AdvanceResult> DeviceDriver::advance(train::StepControl& control) {
  std::optional<DeviceTrainer::Made> last;  // isn't counted yet
  const auto count_last = [&]() -> Result<void> {
    if (!last) return {};
    const std::int64_t step = last->number + 1;
    auto metrics = TFD_TRY(trainer_.metrics_of(*last));
    last.reset();
    return control.count({.step = step, .metrics = std::move(metrics)});
  };
  while (trainer_.step() < control.until() && control.ask() == train::LoopRequest::kContinue) {
    auto made = make_step();
    TFD_TRY(count_last());
    if (!made && made.error().code == Code::kCancelled && control.ask() == train::LoopRequest::kInterrupt)
      return train::AdvanceResult{.step = trainer_.step()};
    if (!made && made.error().code == Code::kOutOfRange)
      return train::AdvanceResult{.step = trainer_.step(), .end_of_data = std::move(made).error()};
    if (!made) return fail(std::move(made).error());
    last = std::move(*made);
    if (!trainer_.works_ahead())
      TFD_TRY(count_last());
    else if (trainer_.step() < control.until())
      trainer_.take_ahead();
  }
  TFD_TRY(count_last());
  return train::AdvanceResult{.step = trainer_.step()};
}

Result<train::EvaluationResult> DeviceDriver::evaluate(const variable::Checkpoint* of) {
  step::MetricAccumulator sum;
  sum.add(TFD_TRY(trainer_.evaluate(of, [this] { return options_.train.interrupts->stopping(); })));
  return train::EvaluationResult{trainer_.step(), sum.values()};
}

}  // namespace

Result<train::TrainSummary> train_on_devices(const program::Program& program, DeviceTrainingOptions options) {
  if (!program.train) return fail(Code::kInvalidArgument, "{}: no train block", program.path);
  if (!options.train.interrupts) options.train.interrupts = std::make_shared<train::Interrupts>();
  DeviceDriver driver(program, options);
  return train::run_train_loop(program, driver, options.train);
}

}  // namespace tfd::strategy
