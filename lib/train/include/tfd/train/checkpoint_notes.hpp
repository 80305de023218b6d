#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Records that a run keeps beside its checkpoints, in small JSON files: its end ("end.json"), early stopping
// ("stop.json", the states of the best evaluations in "stop"), and the best evaluation ("best.json", its state in
// "best"). A missing or malformed file counts as no record. Private to the room. Thread rule: one thread; one process
// writes.
#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tfd/base/log.hpp"
#include "tfd/program/program.hpp"
#include "tfd/train/training.hpp"
#include "tfd/variable/checkpoint.hpp"

namespace tfd::train {

/// Names of all these files in the checkpoint directory.
inline constexpr std::array<std::string_view, 5> kCheckpointNotes{"end.json", "best.json", "stop.json", "best", "stop"};

/// Record of a training's end: the same command has nothing left to do, and evaluators stop waiting for further steps.
/// A training that a signal ended has none; one that max_time ended has, but continues when it is started again.
struct RunEnd {
  std::string reason;     // "done", "stopped", "end_of_data", "max_time"
  std::int64_t step = 0;  // the last step, of which there is a checkpoint
  std::string rule;       // of train.stop, or the stated steps if fewer sufficed: another rule lets training continue
  std::string time;       // time of writing, which tells runs apart
  std::string run = {};   // id of the run; empty: written by an older tfd
};

/// Makes the record for `reason` and this train block.
RunEnd make_run_end(const program::TrainDef& train, const std::string& reason, std::int64_t step);
/// The rule if `stated` steps of epochs took fewer, since several replicas share an epoch.
std::string rule_of_epochs(std::int64_t stated);
/// True if a training by this block is complete at that step.
bool is_over(const RunEnd& end, const program::TrainDef& train);
/// Writes the record atomically; the directory exists, since it has checkpoints.
Result<void> save_run_end(const std::string& directory, const RunEnd& end);
std::optional<RunEnd> find_run_end(const std::string& directory);
/// Removes the record when training continues.
void remove_run_end(const std::string& directory);

/// State of early stopping after one evaluation.
struct StopState {
  std::int64_t step = 0;            // of the evaluation
  std::int64_t since = 0;           // evaluations since the best one
  std::optional<double> best = {};  // absent: all were NaN so far
  std::optional<std::int64_t> best_step = {};
  Metrics best_metrics = {};
};

/// States of early stopping for every checkpoint from which a run may continue.
class StopRecord {
 public:
  /// Opens the record of `train`, which has train.stop and train.checkpoint.
  explicit StopRecord(const program::TrainDef& train);

  /// Finds the state at that step by the same rule and forgets later ones. nullopt: there is none.
  std::optional<StopState> find(std::int64_t step);
  void forget();
  /// Adds a state atomically, and removes those that no checkpoint needs.
  Result<void> add(StopState state);

  /// Saves the variables of the best evaluation, before the state that names its step is added.
  Result<void> save_best(const variable::Checkpoint& best) const;
  bool has_best(std::int64_t step) const;
  Result<variable::Checkpoint> load_best(std::int64_t step) const;

 private:
  std::string path() const { return directory_ + "/stop.json"; }
  std::string states_directory() const { return directory_ + "/stop"; }
  void forget_unneeded();
  void remove_states() const;

  std::string directory_;
  std::string rule_;               // without patience, which doesn't affect recorded states
  std::vector<StopState> states_;  // by step
};

/// Tracks the best evaluation, and the number of evaluations since. Plain value.
class Best {
 public:
  explicit Best(program::BestDef by, double min_delta = 0) : by_(std::move(by)), min_delta_(min_delta) {}

  /// Returns true if this one is the best so far; NaN never is, and evaluations without the metric are ignored.
  bool observe(const Metrics& metrics);
  /// Restores the state of an earlier run.
  void restore(std::optional<double> value, std::int64_t since) {
    value_ = value;
    since_ = since;
  }
  std::int64_t since() const { return since_; }
  std::optional<double> value() const { return value_; }

 private:
  program::BestDef by_;
  double min_delta_;
  std::optional<double> value_;
  std::int64_t since_ = 0;
};

/// Returns the evaluated state; called only if it is needed.
using TakeState = std::function<Result<variable::Checkpoint>()>;

/// train.checkpoint.keep_best: keeps one more checkpoint, of the best evaluation so far. A continued training restores
/// the best value, so that a worse one doesn't replace it.
class BestExporter {
 public:
  /// Makes an exporter for train.checkpoint, which has keep_best; without a best yet.
  explicit BestExporter(const program::CheckpointDef& checkpoint);
  /// Continues this run with its best evaluation from disk, if there is one.
  void go_on(const std::string& run);
  /// Returns the checkpoint's path if this evaluation is the best. Errors of `take`; failed writes are logged.
  Result<std::optional<std::string>> observe(std::int64_t step, const Metrics& metrics, const TakeState& take,
                                             const Log& log);

 private:
  Result<std::string> save(const variable::Checkpoint& checkpoint) const;

  std::string directory_;
  program::BestDef by_;
  Best best_;
};

}  // namespace tfd::train
