#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// What a run keeps beside its checkpoints, in small JSON files: that it is over ("end.json"), what early stopping has
// seen ("stop.json", the states of the best evaluations in "stop"), and which evaluation was the best ("best.json", its
// state in "best"). A file that is missing, or isn't what it should be, says nothing. Private to the room.
// Thread rule: one thread; one process writes.
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

/// The names of all of it in the directory of the checkpoints.
inline constexpr std::array<std::string_view, 5> kCheckpointNotes{"end.json", "best.json", "stop.json", "best", "stop"};

/// That a training is over: the same command started again has nothing left to do, and evaluators don't wait for a step
/// that never comes. A training that a signal ended isn't over; one that max_time ended is, but goes on when it is
/// started again.
struct RunEnd {
  std::string reason;     // "done", "stopped", "end_of_data", "max_time"
  std::int64_t step = 0;  // the last one, of which there is a checkpoint
  std::string rule;       // of train.stop, or how many steps were stated where it took fewer: another one may go on
  std::string time;       // when it was written: to tell one run from another
  std::string run = {};   // whose it is; empty: an older tfd's
};

/// What `reason` means for a program with this train block.
RunEnd make_run_end(const program::TrainDef& train, const std::string& reason, std::int64_t step);
/// The rule where `stated` steps of epochs were fewer, for several replicas share an epoch.
std::string rule_of_epochs(std::int64_t stated);
/// Whether a training by this block that has come to that step has nothing left to do.
bool is_over(const RunEnd& end, const program::TrainDef& train);
/// Atomically; the directory is there, for there are checkpoints in it.
Result<void> save_run_end(const std::string& directory, const RunEnd& end);
std::optional<RunEnd> find_run_end(const std::string& directory);
/// When training goes on.
void remove_run_end(const std::string& directory);

/// How early stopping stands after one evaluation.
struct StopState {
  std::int64_t step = 0;            // of the evaluation
  std::int64_t since = 0;           // evaluations without a better one
  std::optional<double> best = {};  // none yet: all were NaN
  std::optional<std::int64_t> best_step = {};
  Metrics best_metrics = {};
};

/// How early stopping stood at every checkpoint that a run may go on from.
class StopRecord {
 public:
  /// Of train.stop and train.checkpoint, which are both there.
  explicit StopRecord(const program::TrainDef& train);

  /// How things stood at that step by the same rule; later ones are forgotten. nullopt: nothing is known.
  std::optional<StopState> find(std::int64_t step);
  void forget();
  /// Atomically, in place of those that no checkpoint could go on with any more.
  Result<void> add(StopState state);

  /// Of the best evaluation: before the state that names its step is added.
  Result<void> save_best(const variable::Checkpoint& best) const;
  bool has_best(std::int64_t step) const;
  Result<variable::Checkpoint> load_best(std::int64_t step) const;

 private:
  std::string path() const { return directory_ + "/stop.json"; }
  std::string states_directory() const { return directory_ + "/stop"; }
  void forget_unneeded();
  void remove_states() const;

  std::string directory_;
  std::string rule_;               // patience apart, by which nothing that was seen becomes another
  std::vector<StopState> states_;  // by step
};

/// Which evaluation is the best so far, and for how many there was no better one. Plain value.
class Best {
 public:
  explicit Best(program::BestDef by, double min_delta = 0) : by_(std::move(by)), min_delta_(min_delta) {}

  /// Whether this one is the best; NaN never is, and one without the metric isn't looked at.
  bool observe(const Metrics& metrics);
  /// That it has been told of an earlier run.
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

/// The state that was evaluated, where it is wanted.
using TakeState = std::function<Result<variable::Checkpoint>()>;

/// train.checkpoint.keep_best: one more checkpoint, of the best evaluation so far. A training that goes on knows what
/// the best was, and doesn't take a worse one for better.
class BestExporter {
 public:
  /// Of train.checkpoint, whose keep_best is there. Knows of none yet.
  explicit BestExporter(const program::CheckpointDef& checkpoint);
  /// This run's training goes on: its best is known, as far as it is on disk.
  void go_on(const std::string& run);
  /// The path, where this evaluation is the best one. Errors are those of `take`: what can't be written is logged.
  Result<std::optional<std::string>> observe(std::int64_t step, const Metrics& metrics, const TakeState& take,
                                             const Log& log);

 private:
  Result<std::string> save(const variable::Checkpoint& checkpoint) const;

  std::string directory_;
  program::BestDef by_;
  Best best_;
};

}  // namespace tfd::train
