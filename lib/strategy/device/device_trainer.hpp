#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Trains a program on the devices of this process, step by step: its data, its steps, its state in checkpoint form.
// A StepDriver decides on the next step and its time. Private to the room. Thread rule: one thread.
#include <algorithm>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "device_steps.hpp"
#include "host_steps.hpp"
#include "tfd/step/nonfinite.hpp"
#include "tfd/step/replica_runner.hpp"
#include "tfd/step/replica_step.hpp"
#include "tfd/strategy/device_training.hpp"
#include "tfd/train/train_loop.hpp"
#include "tfd/variable/checkpoint.hpp"

namespace tfd::strategy {

/// Where the replicas of this process are, and how they are reduced with others.
struct TrainerPlace {
  step::ReplicaRange replicas = {};
  int devices = 1;
  step::ReplicaExchange* exchange = nullptr;  // borrowed; null: all replicas are in this process
  int tensorflow_workers = 0;                 // as in DeviceStepOptions; their datasets are these replicas' alone then
  std::int64_t tensorflow_pack_bytes = 0;     // as there
  std::vector<std::vector<int>> system = {};  // as in DeviceStepOptions
  /// The variables are on the host (HostSteps), and a step needs the outputs of all replicas, of this process's `own`.
  std::function<Result<step::ReplicaOutputs>(step::ReplicaOutputs own)> gather_outputs = {};
};

class DeviceTrainer {
 public:
  /// `program` and `options` are borrowed.
  DeviceTrainer(const program::Program& program, const DeviceTrainingOptions& options)
      : program_(program), train_(*program.train), options_(options) {}

  /// Uses this engine instead of making one.
  void use(std::shared_ptr<function::Engine> engine) { engine_ = std::move(engine); }
  bool has_engine() const { return engine_ != nullptr; }
  /// Has XLA use `count` threads, and one for each device, in the engine that isn't made yet.
  void use_threads(int count);
  /// Compiles for this instruction set of CPUs at most, in the engine that isn't made yet.
  void use_isa(const std::string& isa);
  /// The instruction set that XLA compiles for; empty: not known.
  const std::string& isa() const { return isa_; }
  /// Computes by these kernels, in the engine that isn't made yet.
  void use_kernels(const std::string& kernels);
  /// The kernels by which programs compute; empty: not known.
  const std::string& kernels() const { return kernels_; }
  /// XLA's threads in this process; 0: not known.
  int threads() const { return threads_ == 0 ? 0 : std::max(threads_, options_.replicas * options_.logical_devices); }
  /// Makes the engine and the data's iterators, and puts the variables on the devices: those of `from`, whose tensors
  /// are moved out, or initial values.
  Result<void> open(const TrainerPlace& place, const train::TrainStart& from);
  /// Goes on with other replicas of the same training: engine, modules and variables stay, and the data are read from
  /// this position on. kInvalidArgument: these aren't the data of the position.
  Result<void> move_to(const TrainerPlace& place, const step::DataPosition& position);
  bool is_open() const { return steps_ != nullptr; }
  step::ReplicaRunner& runner() { return *runner_; }
  const TrainingSteps& steps() const { return *steps_; }
  const function::Engine& engine() const { return *engine_; }

  std::int64_t step() const { return step_; }
  void set_step(std::int64_t step) { step_ = iterations_ = step; }

  /// Takes the next step's inputs, unless that was done ahead. kOutOfRange: the data have ended; kCancelled:
  /// stop_data() was called, and nothing was taken.
  Result<DeviceSteps::Inputs> take_inputs();
  /// Takes them ahead, to be returned by the next take_inputs(), whatever they are.
  void take_ahead();
  bool works_ahead() const { return steps_->works_ahead(); }
  /// Gives back inputs that take_inputs() returned and no step has used.
  void give_back(DeviceSteps::Inputs inputs);
  /// Restarts the data for the next epoch, whose number is in their order.
  void begin_epoch(std::uint64_t epoch);
  /// Ends waits for data, for good unless renew_data() follows. For any thread, but not beside renew_data().
  void stop_data() { stop_data_->request(); }
  /// Data may be waited for again, from move_to() on, which reads them anew.
  void renew_data() { stop_data_ = std::make_shared<const command::CommandStop>(); }

  /// A step that is finished, or still running on the devices.
  struct Made {
    std::int64_t number = 0;
    DeviceSteps::Done done;
    std::vector<double> examples = {};  // examples of each replica that had data
    std::vector<int> replicas = {};     // their numbers among those of the training
  };
  /// Makes the next step. Errors of DeviceSteps::step(); kInternal: a gradient is not finite.
  Result<Made> make_step(const DeviceSteps::Inputs& inputs);
  /// The same in two halves: what compute() returns may be dropped, if the step isn't made.
  Result<DeviceSteps::Computed> compute(const DeviceSteps::Inputs& inputs) { return steps_->compute(inputs, step_); }
  Result<Made> make_step(const DeviceSteps::Inputs& inputs, Result<DeviceSteps::Computed> computed);
  /// The same by one program for all processes' devices: DeviceSteps::prepare_launch() and launch().
  Result<std::optional<DeviceSteps::Launch>> prepare_launch(const DeviceSteps::Inputs& inputs) {
    return steps_->prepare_launch(inputs);
  }
  Result<std::optional<Made>> launch(const DeviceSteps::Inputs& inputs);
  /// Lets go of the devices, which must be done; nothing may follow.
  void close();
  /// kInternal: a loss is not finite, and that ends the training.
  Result<std::vector<step::Metric>> metrics_of(Made& made) const;

  /// Evaluates one part of train.evaluate, with this state, or the current variables. kCancelled if `stop` says so
  /// between batches.
  Result<std::vector<step::Metric>> evaluate(const variable::Checkpoint* of, const std::function<bool()>& stop,
                                             const step::EvaluationPart& part = {});
  Result<variable::Checkpoint> export_state();
  /// Sets the variables; the step is unchanged.
  Result<void> import_state(const tensor::NamedTensors& state);
  /// Copies of variables that are synchronized on read, for which a state in checkpoint form has one value; for a
  /// process that takes over replicas of this training.
  tensor::NamedTensors export_copies() const { return steps_->copies(); }
  Result<void> import_copies(const tensor::NamedTensors& state) { return steps_->load_copies(state); }
  Result<void> use_averages();
  /// The data's position before the next step's elements.
  step::DataPosition data_position() const { return ahead_ ? ahead_->position : runner_->data_position(); }

 private:
  std::vector<variable::VariableState> initial_states() const;
  Result<void> make_runner(const TrainerPlace& place);
  Result<void> make_steps(const TrainerPlace& place);
  Result<void> check_memory(const TrainerPlace& place, const train::TrainStart& from) const;
  void compare_threads(const variable::Checkpoint& from) const;
  void compare_isa(const variable::Checkpoint& from) const;
  void compare_kernels(const variable::Checkpoint& from) const;
  Result<DeviceSteps::Inputs> take_new_inputs();
  Result<Made> made(const DeviceSteps::Inputs& inputs, Result<DeviceSteps::Done> done);
  /// Compiles the rest in the background after the first step.
  void compile_ahead();

  const program::Program& program_;
  const program::TrainDef& train_;
  const DeviceTrainingOptions& options_;
  std::shared_ptr<const command::CommandStop> stop_data_ =  // shared with the runner, like the engine
      std::make_shared<const command::CommandStop>();
  step::LossWatch losses_{program_};
  int replicas_ = 1;       // of the training
  int first_replica_ = 0;  // of this process
  int threads_ = options_.threads.count;
  std::string isa_ = options_.threads.isa, kernels_ = options_.threads.kernels;
  std::shared_ptr<function::Engine> engine_;
  std::unique_ptr<step::ReplicaRunner> runner_;
  std::unique_ptr<TrainingSteps> steps_;
  HostSteps* on_host_ = nullptr;  // the same, if the variables are on the host
  /// Inputs of the next step, and the data's position before them.
  struct Ahead {
    step::DataPosition position;
    Result<DeviceSteps::Inputs> inputs;
  };
  std::optional<Ahead> ahead_;
  std::optional<step::DataPosition> before_;  // the data's position before the inputs that were taken last
  std::int64_t step_ = 0;
  std::int64_t iterations_ = 0;   // number of updates, as in checkpoints
  step::CompileAhead compiling_;  // uses the runner and the steps
};

}  // namespace tfd::strategy
