#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// train.checkpoint.keep_best: one more checkpoint, of the best evaluation so far, in the directory's "best". What it
// was is written beside it, so that a training that goes on doesn't take a worse one for better. Thread rule: one
// thread.
#include <string>

#include "tfd/strategy/best.hpp"
#include "tfd/variable/checkpoint.hpp"

namespace tfd::strategy {

class KeptBest {
 public:
  /// Of train.checkpoint, whose keep_best is there. Knows of none yet.
  explicit KeptBest(const program::CheckpointDef& checkpoint);
  /// This run's training goes on: knows what its best was, of what is on disk.
  void go_on(const std::string& run);
  bool observe(const std::vector<std::pair<std::string, double>>& metrics) { return best_.observe(metrics); }
  /// What was observed last, in place of the one before. Its path. Errors as of variable::save_checkpoint.
  Result<std::string> save(const variable::Checkpoint& checkpoint) const;

 private:
  std::string directory_;
  program::BestDef by_;
  Best best_;
};

}  // namespace tfd::strategy
