#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// What a training tells whoever runs it, and what it can be told meanwhile. Shared by the strategies and the
// coordinator's trainer; neither reads signals nor prints.
// Thread rule: Interrupts is thread-safe; the rest are plain values whose sinks the training's thread calls.
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tfd/base/deadline.hpp"
#include "tfd/base/error.hpp"
#include "tfd/base/log.hpp"
#include "tfd/program/program.hpp"
#include "tfd/train/trace.hpp"
#include "tfd/variable/checkpoint.hpp"

namespace tfd::train {

/// What somebody outside wants of a training that runs.
class Interrupts {
 public:
  void ask_checkpoint();  // and go on
  void ask_stop();        // checkpoint, and end as interrupted
  bool take_checkpoint();
  bool stopping() const;
  /// Called after every ask, on the thread that asks.
  void on_ask(std::function<void()> action);

 private:
  void asked();
  mutable std::mutex mutex_;
  bool checkpoint_ = false;
  bool stop_ = false;
  std::mutex action_mutex_;  // another one: the action may ask what is wanted
  std::function<void()> action_;
};

using Metrics = std::vector<std::pair<std::string, double>>;

struct TrainProgress {
  std::int64_t step = 0;
  std::optional<std::int64_t> steps;  // where the end is known
  Metrics metrics;                    // of the last `step` event
};

struct TrainOptions {
  Duration grace = std::chrono::seconds(25);                            // from ask_stop() to the end
  std::shared_ptr<Interrupts> interrupts = {};                          // with whoever reads the signals
  std::function<Result<void>(std::string_view line)> write_event = {};  // one JSON line with its newline
  std::function<void(const TrainProgress&)> on_progress = {};           // often: after every step
  /// With every `step` event ("train", with the rates) and every evaluation ("eval").
  std::function<void(std::string_view what, std::int64_t step, const Metrics& metrics)> on_metrics = {};
  std::function<void(const std::string& line)> say = {};  // changes of state, for people
  std::shared_ptr<Trace> trace = {};                      // with the steps' driver; null: none
  /// A file, or a directory (its latest one): what a training begins with that has nothing to go on from.
  std::string checkpoint = {};
  bool start_over = false;          // what train.checkpoint.dir has is moved aside, and training begins anew
  std::int64_t epoch_elements = 0;  // of all epochs that train.steps stand for; 0: the program stated steps
  Log log = {};
};

struct TrainSummary {
  std::string reason;           // "done", "end_of_data", "max_time", "stopped", "interrupted", "nothing_left"
  std::int64_t first_step = 0;  // where it began: 0, or that of the checkpoint
  std::int64_t step = 0;
  std::optional<std::int64_t> steps;
  Duration elapsed{};      // of the training itself
  Metrics metrics;         // the last training metrics, and the last evaluation's over them
  std::string checkpoint;  // the newest one; empty where there is none
};

/// Whether a checkpoint is of this program: it has every variable (not the workers' own), of its dtype and shape.
/// kInvalidArgument: "ck/step-00000300.safetensors has no variable 'w': it belongs to another program". What else it
/// has is ignored, and what an optimizer keeps is the parameter servers' to look at.
Result<void> check_state(const program::Program& program, const variable::Checkpoint& checkpoint);
/// The checkpoint that somebody names, a file or a directory (its latest one), of this program. kNotFound;
/// kInvalidArgument.
Result<variable::Checkpoint> load_weights(const program::Program& program, const std::string& path, const Log& log);
/// "the same command", or what is to be changed of it, for it to go on from its checkpoints.
std::string command_to_continue(const program::TrainDef& train, const TrainOptions& options);

}  // namespace tfd::train
