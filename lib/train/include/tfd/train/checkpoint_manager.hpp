#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// The checkpoints of one training: the one to continue from, a probe whether they can be written, the time of the next
// one, the newest one. A disk that fills up later doesn't end the training: older checkpoints are unchanged, and the
// next one is tried. Thread rule: one thread, beside which one of its own writes.
#include <cstdint>
#include <future>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "tfd/base/deadline.hpp"
#include "tfd/program/program.hpp"
#include "tfd/train/checkpoint_notes.hpp"
#include "tfd/train/directory_lock.hpp"
#include "tfd/train/training.hpp"
#include "tfd/variable/checkpoint.hpp"
#include "tfd/variable/checkpoint_parts.hpp"

namespace tfd::train {

/// True for a checkpoint's entry that is a variable, not optimizer state.
inline bool is_value(std::string_view name) {
  return !name.starts_with('.') && name.find("/.") == std::string_view::npos;
}

/// Writes a checkpoint, as save_checkpoint(), on a thread of its own; its tensors are released as soon as they are on
/// disk. The future's destructor waits for it. `finite`: variables that must be finite; kInternal names one that is
/// not, and nothing is written then.
std::future<Result<std::string>> save_in_background(const std::string& directory, variable::Checkpoint checkpoint,
                                                    int keep, std::vector<std::string> finite);

class CheckpointManager {
 public:
  /// `writes`: this task saves checkpoints. `train` and `options` outlive it.
  CheckpointManager(const program::TrainDef& train, bool writes, const TrainOptions& options);

  /// Claims the directory for this training, if it exists; does nothing once it is claimed. Whatever the claim is,
  /// TrainOptions may say to take it. Errors of DirectoryLock::acquire().
  Result<void> hold(Claim claim);
  /// Gives the directory back: nothing will be written.
  void release() { lock_.reset(); }

  bool are_saved() const { return writes_ && train_.checkpoint.has_value(); }
  /// Finds the checkpoint to continue from: the latest of the directory's run; unreadable ones are skipped and
  /// reported, and so is a missing one that was newer. nullopt: there is none, or none is wanted. kInvalidArgument: it
  /// is of another program, or there are checkpoints and train.checkpoint.resume is false. kDataLoss: none of the
  /// checkpoints that the index names exists.
  Result<std::optional<variable::Checkpoint>> find(const program::Program& program);
  /// Without a checkpoint to continue from: the variables of the one that TrainOptions names, at step 0.
  Result<std::optional<variable::Checkpoint>> find_initial(const program::Program& program);
  /// The end of an earlier run at the checkpoint found: there is nothing left to do.
  const std::optional<RunEnd>& ended() const { return ended_; }
  /// Checks before the first step that the directory is writable, by writing and removing a file. kSystem,
  /// kResourceExhausted or kPermissionDenied, with the directory and why.
  Result<void> probe() const;
  /// Begins training: removes the record of an end, takes the directory for this run and writer, and starts the clock.
  /// If it starts over, existing files are moved to a directory of their own, which is reported. `group`: that writes,
  /// if several processes train together; else this process is one, after the last writer of the directory, which no
  /// longer writes if it still trains.
  Result<void> begin(std::optional<variable::CheckpointWriter> group = std::nullopt);
  /// Reports where and how often checkpoints will be saved, or that nothing will be.
  void say_plan() const;
  /// Reports the variables' origin.
  void say_beginning(const std::optional<variable::Checkpoint>& resumed,
                     const std::optional<variable::Checkpoint>& initial) const;
  /// Reports that the training was over already, at this step, and why.
  void say_nothing_left(std::int64_t step) const;

  /// Time of the next checkpoint; never, if none is due by time.
  Deadline next_time() const;
  /// The generation of whoever wrote last to the directory, as it was found; 0: nobody, as far as is known.
  std::uint64_t last_generation() const { return last_generation_; }
  /// Starts writing a checkpoint while training continues; its tensors are released as soon as they are on disk. The
  /// previous one must be finished. `write`: others write it, in parts, and `checkpoint` has no state. `finite`: as in
  /// save_in_background().
  void begin_saving(variable::Checkpoint checkpoint, variable::WriteParts write = nullptr,
                    std::vector<std::string> finite = {});
  /// Step of the checkpoint being written, until finish_saving().
  std::optional<std::int64_t> saving_step() const { return saving_step_; }
  /// True if writing has finished, after waiting at most `wait`.
  bool is_saved_within(Duration wait) const { return written_.wait_for(wait) == std::future_status::ready; }
  /// Waits until writing has finished. False if it failed, which is reported. The error where another process writes
  /// there by now, a task that wrote is lost, or a variable is not finite (kInternal).
  Result<bool> finish_saving();
  /// Error for a last checkpoint that couldn't be written: kResourceExhausted.
  Error not_saved() const;
  /// Writes the record of the end, after everything else: a reader that sees it sees the last checkpoint, too.
  /// `stated`: stated steps of epochs, if fewer sufficed.
  void mark_end(const std::string& reason, std::int64_t step, std::optional<std::int64_t> stated = {}) const;

  /// Step of the newest checkpoint found or saved; -1 if none.
  std::int64_t step() const { return step_; }
  const std::string& path() const { return path_; }
  /// Id of the run that saves checkpoints; empty if none are saved.
  const std::string& run();
  /// Forgets the newest checkpoint's step: the variables have changed since.
  void invalidate() { step_ = -1; }
  /// "the same command continues from …", for the message of a failed run.
  std::string describe() const;

 private:
  Result<void> start_over();
  Result<void> check_missing() const;
  bool is_borne(const Error& error) const;

  const program::TrainDef& train_;
  bool writes_;
  const TrainOptions& options_;
  std::unique_ptr<DirectoryLock> lock_;  // null: the directory isn't claimed, or can't be
  std::optional<RunEnd> ended_;
  variable::CheckpointIndex index_;    // index of the continued run
  variable::CheckpointWriter writer_;  // this process, or its group as training began
  std::uint64_t last_generation_ = 0;
  std::int64_t step_ = -1;
  std::int64_t path_step_ = -1;
  std::string path_;
  bool has_failed_ = false;                    // to write the last one
  Clock::time_point saved_at_ = Clock::now();  // began to be
  std::optional<std::int64_t> saving_step_;
  std::future<Result<std::string>> written_;  // the path
};

}  // namespace tfd::train
