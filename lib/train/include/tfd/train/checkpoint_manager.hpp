#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// The checkpoints of one training: which one it goes on from, whether they can be written at all, when the next one is
// due by time, what the newest is. A disk that fills up later ends no training that could still succeed: the older
// checkpoints are as they were, and the next one is tried. Private to the room. Thread rule: one thread, beside which
// one of its own writes.
#include <cstdint>
#include <future>
#include <optional>
#include <string>
#include <string_view>

#include "tfd/base/deadline.hpp"
#include "tfd/program/program.hpp"
#include "tfd/train/checkpoint_notes.hpp"
#include "tfd/train/training.hpp"
#include "tfd/variable/checkpoint.hpp"

namespace tfd::train {

/// Of what a checkpoint has: a variable, and not what an optimizer keeps.
inline bool is_value(std::string_view name) {
  return !name.starts_with('.') && name.find("/.") == std::string_view::npos;
}

class CheckpointManager {
 public:
  /// `writes`: whether it is this task that saves them. `train` and `options` outlive it.
  CheckpointManager(const program::TrainDef& train, bool writes, const TrainOptions& options);

  bool are_saved() const { return writes_ && train_.checkpoint.has_value(); }
  /// The one to go on from: the latest of the run whose directory it is; those that can't be read are passed over, and
  /// said. nullopt: none, or none is wanted. kInvalidArgument: it is of another program, or there are some and
  /// train.checkpoint.resume is false.
  Result<std::optional<variable::Checkpoint>> find(const program::Program& program);
  /// Where there is nothing to go on from: the variables' values of the checkpoint that TrainOptions names, as of step
  /// 0.
  Result<std::optional<variable::Checkpoint>> find_initial(const program::Program& program);
  /// An earlier run was over at the one that was found: there is nothing left to do.
  const std::optional<RunEnd>& ended() const { return ended_; }
  /// Before the first step: writes a file and removes it. kSystem, kResourceExhausted or kPermissionDenied, with the
  /// directory and why.
  Result<void> probe() const;
  /// Training goes on: it isn't over any more, the directory is this run's, and time counts from here. Where it starts
  /// over, what is there goes into a directory of its own, which is said.
  Result<void> begin();
  /// Says on which variables it begins.
  void say_beginning(const std::optional<variable::Checkpoint>& resumed,
                     const std::optional<variable::Checkpoint>& initial) const;

  /// When the next one is due by time; never, where none is.
  Deadline next_time() const;
  /// Begins to write it, while training goes on: its tensors are let go as soon as they are on disk. The one before is
  /// over.
  void begin_saving(variable::Checkpoint checkpoint);
  /// The step of the one that was begun, until finish_saving().
  std::optional<std::int64_t> saving_step() const { return saving_step_; }
  /// Whether it is over, after so long at most.
  bool is_saved_within(Duration wait) const { return written_.wait_for(wait) == std::future_status::ready; }
  /// Waits until it is over. False where it couldn't be written, which is said.
  bool finish_saving();
  /// That the last one couldn't be: kResourceExhausted.
  Error not_saved() const;
  /// The last thing that is written: who sees it sees the last checkpoint too. `stated`: steps of epochs, where it took
  /// fewer.
  void mark_end(const std::string& reason, std::int64_t step, std::optional<std::int64_t> stated = {}) const;

  /// Of the newest one that was found or saved; -1: none.
  std::int64_t step() const { return step_; }
  const std::string& path() const { return path_; }
  /// Whose the checkpoints are that are saved; empty where none are.
  const std::string& run();
  /// The variables aren't any more what was saved at this step.
  void invalidate() { step_ = -1; }
  /// "the same command continues from …": what somebody must know whose run has failed.
  std::string describe() const;

 private:
  Result<void> start_over();

  const program::TrainDef& train_;
  bool writes_;
  const TrainOptions& options_;
  std::optional<RunEnd> ended_;
  variable::CheckpointIndex index_;  // of the run that goes on
  std::int64_t step_ = -1;
  std::int64_t path_step_ = -1;
  std::string path_;
  Clock::time_point saved_at_ = Clock::now();  // began to be
  std::optional<std::int64_t> saving_step_;
  std::future<Result<std::string>> written_;  // the path
};

}  // namespace tfd::train
