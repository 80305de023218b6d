#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// A training's output, and requests to it while it runs. Shared by the strategies and the coordinator's trainer;
// neither reads signals nor prints. Thread rule: Interrupts is thread-safe; the rest are plain values whose sinks the
// training's thread calls.
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tfd/base/deadline.hpp"
#include "tfd/base/error.hpp"
#include "tfd/base/log.hpp"
#include "tfd/base/thread_annotations.hpp"
#include "tfd/program/program.hpp"
#include "tfd/train/trace.hpp"
#include "tfd/variable/checkpoint.hpp"

namespace tfd::train {

/// Requests from outside to a running training.
class Interrupts {
 public:
  void ask_checkpoint();  // and go on
  void ask_stop();        // save a checkpoint, and end as interrupted
  bool take_checkpoint();
  bool stopping() const;
  /// Sets an action that is called after every request, on the requesting thread.
  void on_ask(std::function<void()> action);

 private:
  void asked() TFD_EXCLUDES(mutex_);
  mutable Mutex mutex_;
  bool checkpoint_ TFD_GUARDED_BY(mutex_) = false;
  bool stop_ TFD_GUARDED_BY(mutex_) = false;
  Mutex action_mutex_;  // a second mutex: the action may read the requests
  std::function<void()> action_ TFD_GUARDED_BY(action_mutex_);
};

using Metrics = std::vector<std::pair<std::string, double>>;

struct TrainProgress {
  std::int64_t step = 0;
  std::optional<std::int64_t> steps;  // set if the end is known
  Metrics metrics;                    // metrics of the last `step` event
};

struct TrainOptions {
  Duration grace = std::chrono::seconds(25);                            // from ask_stop() to the end
  std::shared_ptr<Interrupts> interrupts = {};                          // shared with the reader of signals
  std::function<Result<void>(std::string_view line)> write_event = {};  // one JSON line with its newline
  std::function<void(const TrainProgress&)> on_progress = {};           // often: after every step
  /// Called with every `step` event ("train", with the rates and the learning rate) and every evaluation ("eval").
  std::function<void(std::string_view what, std::int64_t step, const Metrics& metrics)> on_metrics = {};
  std::function<void(const std::string& line)> say = {};  // changes of state, for people
  std::shared_ptr<Trace> trace = {};                      // shared with the steps' driver; null: none
  /// A checkpoint file, or a directory (its latest one), for a training without one to continue from.
  std::string checkpoint = {};
  /// Goes on with a training whose chief was lost: its checkpoints are this training's, whatever start_over and
  /// train.checkpoint.resume say.
  bool takes_over = false;
  bool take_directory = false;  // takes train.checkpoint.dir from another training that runs
  /// When a training began that begins again, since it has lost a parameter server: train.max_time counts from then.
  std::optional<Clock::time_point> began = {};
  bool start_over = false;          // moves the content of train.checkpoint.dir aside, and trains from the start
  std::int64_t epoch_elements = 0;  // elements of all epochs behind train.steps; 0: the program stated steps
  std::int64_t epochs = 0;          // behind train.steps, for `epoch` events; 0: the program stated steps
  /// Settings of this run as a JSON object, for the `start` event and the run's record beside its checkpoints; empty:
  /// neither has any.
  std::string settings = {};
  Log log = {};
};

struct TrainSummary {
  /// "done", "end_of_data", "max_time", "stopped", "interrupted", "nothing_left"; "left": others go on without this
  /// process; "replaced", "lost": StepDriver::was_replaced(), begins_again().
  std::string reason;
  std::int64_t first_step = 0;  // 0, or the checkpoint's step
  std::int64_t step = 0;
  std::optional<std::int64_t> steps;
  Duration elapsed{};      // of the training itself
  Metrics metrics;         // of the training's last steps
  Metrics evaluation;      // of the last evaluation; empty if there was none
  std::string checkpoint;  // path of the newest one; empty if there is none
  bool is_told = false;    // another process says all this, too: the chief of those that make each step together
};

/// Checks that a checkpoint is of this program: it has every variable (not the workers' own), with its dtype and shape.
/// kInvalidArgument: "ck/step-00000300.safetensors has no variable 'w': it belongs to another program". Other entries
/// are ignored; optimizer state is checked by the parameter servers.
Result<void> check_state(const program::Program& program, const variable::Checkpoint& checkpoint);
/// Loads a named checkpoint of this program, a file or a directory (its latest one). kNotFound; kInvalidArgument.
Result<variable::Checkpoint> load_weights(const program::Program& program, const std::string& path, const Log& log);
/// "the same command", or how to change it, to continue from its checkpoints.
std::string command_to_continue(const program::TrainDef& train, const TrainOptions& options);
/// "the same command continues from ck/step-00000200.safetensors (step 200)".
std::string continuation_from(const program::TrainDef& train, const TrainOptions& options, const std::string& path,
                              std::int64_t step);
/// The same of the newest in train.checkpoint.dir, whoever wrote it. Empty if this process sees none.
std::string continuation_of(const program::TrainDef& train, const TrainOptions& options);

}  // namespace tfd::train
