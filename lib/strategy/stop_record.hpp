#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// What train.stop has seen, beside the checkpoints ("stop.json", and the states of the best evaluations in "stop"): for
// every checkpoint that a run may go on from, how things stood then. An evaluation that came after it is nobody's.
// Private to the room. Thread rule: one thread.
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tfd/program/program.hpp"
#include "tfd/strategy/training.hpp"
#include "tfd/variable/checkpoint.hpp"

namespace tfd::strategy {

/// After one evaluation.
struct StopState {
  std::int64_t step = 0;            // of the evaluation
  std::int64_t since = 0;           // evaluations without a better one
  std::optional<double> best = {};  // none yet: all were NaN
  std::optional<std::int64_t> best_step = {};
  Metrics best_metrics = {};
};

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

}  // namespace tfd::strategy
