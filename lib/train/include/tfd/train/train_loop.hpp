#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// The training loop of all strategies: from which checkpoint it goes on, when it logs, saves and evaluates, why it
// ends, and what it says of that. How steps are made, and where the variables are, is a StepDriver's. A driver says of
// itself what it can't do (TrainRole); what it doesn't say works the same for all of them. Thread rule:
// run_train_loop() blocks its thread, which alone calls the driver; wake() is for any thread.
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "tfd/base/deadline.hpp"
#include "tfd/base/json_line.hpp"
#include "tfd/program/program.hpp"
#include "tfd/step/call.hpp"
#include "tfd/train/training.hpp"
#include "tfd/variable/checkpoint.hpp"

namespace tfd::train {

/// Which part of a training is this process's.
struct TrainRole {
  /// Who prints the events, where several do: then they also say how many updates were its own.
  std::string task = {};
  /// The task that saves and ends the training, where it isn't this one. This one then neither saves nor looks for
  /// checkpoints.
  std::string chief = {};
  bool evaluates = true;   // where there is a train.evaluate
  bool keeps_best = true;  // train.checkpoint.keep_best is its business, and not an evaluator's
  /// Others train the same variables, and go on while this one saves or evaluates: it comes back from an advance beyond
  /// a boundary, not at it. They wait for begin(), and at the end settle() waits for them.
  bool has_others = false;

  bool saves() const { return chief.empty(); }
};

/// Steps in a row of this process's own, and where they have brought the training.
struct StepCount {
  std::int64_t step = 0;                   // the global one
  std::int64_t count = 1;                  // of own ones
  std::vector<step::Metric> metrics = {};  // of these; of several steps as MetricAccumulator::parts() has them
};

/// A worker of a coordinator is lost, or back.
struct WorkerEvent {
  std::string task;
  bool lost = false;
  std::string reason = {};
};

/// What somebody wants of steps that are being made. kPause: to see the variables of a step at which nothing is under
/// way; what was begun is finished, nothing is begun. kEnd: that it ends; what can be taken back is. kInterrupt: the
/// same, within TrainOptions::grace.
enum class LoopRequest { kContinue, kPause, kStop, kInterrupt };

/// The loop, as a driver sees it while it advances.
class StepControl {
 public:
  virtual ~StepControl() = default;
  /// The step to come back at, with nothing under way.
  virtual std::int64_t until() const = 0;
  /// The next step whose metrics are printed: who counts several steps at once stops counting there, or before.
  virtual std::int64_t next_log() const = 0;
  /// To be looked at between steps, after every wake(), and at next_look() at the latest.
  virtual LoopRequest ask() = 0;
  virtual Deadline next_look() const = 0;
  /// In the order of the steps. Errors are those of the sinks, and end the training.
  virtual Result<void> count(const StepCount& steps) = 0;
  virtual Result<void> worker_changed(const WorkerEvent& news) = 0;
};

/// What a training begins with.
struct TrainStart {
  variable::Checkpoint* state = nullptr;  // none: the initial values; its tensors may be taken out
  std::int64_t step = 0;
  bool is_over = false;  // an earlier run was: nothing will be trained
  std::string run = {};  // the id of its checkpoints; empty: none will be saved, or it isn't to be continued

  /// Of shuffles that state none, in data of which workers have one order: the same where the run goes on.
  std::uint64_t data_seed() const;
};

struct StartResult {
  std::int64_t step = 0;
  bool joined = false;                     // what others train already, in place of the TrainStart
  bool adopted = false;                    // the same run, further than the TrainStart: nobody trains it any more
  std::optional<std::int64_t> steps = {};  // how many train.steps stand for, where an epoch takes fewer than stated
};

/// Why an advance came back, beside that it was asked to.
struct AdvanceResult {
  std::int64_t step = 0;                  // the global one
  std::optional<Error> end_of_data = {};  // kOutOfRange
  bool stopped = false;                   // the chief has ended the training before its last step
};

struct EvaluationResult {
  std::int64_t step = 0;
  Metrics metrics;
};

/// Makes the steps of one training. The loop calls begin() once and nothing before it but role(), then the others in
/// any order; between two calls no step is under way.
class StepDriver {
 public:
  virtual ~StepDriver() = default;
  virtual TrainRole role() const = 0;

  /// Connects, compiles, and makes the variables what they are to be.
  virtual Result<StartResult> begin(const TrainStart& from) = 0;
  /// Workers, replicas and devices, in the `start` event.
  virtual void describe(JsonLine& start) const = 0;

  /// Makes steps until StepControl::until(), the end of the data, or until ask() wants it to come back, without coming
  /// back in between: what it has counted by then is what the variables have.
  virtual Result<AdvanceResult> advance(StepControl& control) = 0;
  /// Any thread, from before begin() on: ask() may answer something else by now; waits for others, and an evaluation,
  /// are to end where the training is interrupted.
  virtual void wake() = 0;
  /// What happened and wasn't told by an advance.
  virtual Result<void> tell_news(StepControl&) { return {}; }

  /// By train.evaluate, of this state, or of the variables as they are. kCancelled: interrupted meanwhile.
  virtual Result<EvaluationResult> evaluate(const variable::Checkpoint* of) = 0;
  /// The variables as checkpoints have them, with their step.
  virtual Result<variable::Checkpoint> export_state() = 0;
  /// The variables become these; the step stays.
  virtual Result<void> import_state(const variable::Checkpoint& state) = 0;
  /// At the end: every variable becomes its average.
  virtual Result<void> use_averages() = 0;

  /// The others are to end, before the last step.
  virtual Result<void> stop_others() { return {}; }
  /// At the end of whoever has others and saves: waits for them, of an interrupted training only while there is time.
  /// Where that isn't over at once, it calls `save` before, whatever becomes of the waiting. The step at which nobody
  /// changes the variables any more; nullopt: others go on.
  virtual Result<std::optional<std::int64_t>> settle([[maybe_unused]] bool interrupted,
                                                     [[maybe_unused]] const std::function<Result<void>()>& save) {
    return std::nullopt;
  }
  /// Nothing follows: whoever waits for this task, or serves for it, is told.
  virtual Result<void> end() { return {}; }
};

/// Trains by program.train, which must be there, and whose TrainOptions::interrupts are. Errors: those of the driver,
/// with what is to be done next; kOutOfRange where the data end before the steps that were promised; those of reading
/// or writing checkpoints. Events begin once the driver has begun; the last one is `end`. `options` and `driver`
/// outlive it.
Result<TrainSummary> run_train_loop(const program::Program& program, StepDriver& driver, const TrainOptions& options);

}  // namespace tfd::train
