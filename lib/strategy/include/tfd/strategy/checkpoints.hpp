#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// The checkpoints of one training: which one it goes on from, whether they can be written at all, when the next one is
// due by time, what the newest is. A disk that fills up later ends no training that could still succeed: the older
// checkpoints are as they were, and the next one is tried. Thread rule: one thread.
#include <optional>
#include <string>

#include "tfd/base/deadline.hpp"
#include "tfd/base/log.hpp"
#include "tfd/program/program.hpp"
#include "tfd/strategy/run_end.hpp"
#include "tfd/variable/checkpoint.hpp"

namespace tfd::strategy {

class Checkpoints {
 public:
  /// `writes`: whether it is this task that saves them.
  Checkpoints(const program::TrainDef& train, bool writes, Log log);

  bool are_saved() const { return writes_ && train_.checkpoint.has_value(); }
  /// The one to go on from; those that can't be read are passed over, and said. nullopt: none, or none is wanted.
  Result<std::optional<variable::Checkpoint>> find();
  /// An earlier run was over at the one that was found: there is nothing left to do.
  const std::optional<RunEnd>& ended() const { return ended_; }
  /// Before the first step: writes a file and removes it. kSystem, kResourceExhausted or kPermissionDenied, with the
  /// directory and why.
  Result<void> probe() const;
  /// Training goes on: it isn't over any more, and time counts from here.
  void begin();

  /// When the next one is due by time; never, where none is.
  Deadline next_time() const;
  /// False where it couldn't be written, which is said.
  bool save(const variable::Checkpoint& checkpoint);
  /// That the last one couldn't be: kResourceExhausted.
  Error not_saved() const;
  /// The last thing that is written: who sees it sees the last checkpoint too. `stated`: steps of epochs, where it took
  /// fewer.
  void mark_end(const std::string& reason, std::int64_t step, std::optional<std::int64_t> stated = {}) const;

  /// Of the newest one that was found or saved; -1: none.
  std::int64_t step() const { return step_; }
  const std::string& path() const { return path_; }
  /// The variables aren't any more what was saved at this step.
  void invalidate() { step_ = -1; }
  /// "the same command continues from …": what somebody must know whose run has failed.
  std::string describe() const;

 private:
  const program::TrainDef& train_;
  bool writes_;
  Log log_;
  std::optional<RunEnd> ended_;
  std::int64_t step_ = -1;
  std::int64_t path_step_ = -1;
  std::string path_;
  Clock::time_point saved_at_ = Clock::now();
};

}  // namespace tfd::strategy
