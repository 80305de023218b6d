#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Evaluates the checkpoints of a training elsewhere with the workers of a cluster. Thread rule: blocks its thread.
#include "tfd/coordinator/trainer.hpp"

namespace tfd::coordinate {

/// Evaluates checkpoints as they appear in train.checkpoint.dir, in order, as `eval` events with step and path, until
/// the last step's (or forever if the steps aren't known) or an interruption. kInvalidArgument without train.evaluate
/// and train.checkpoint.
Result<train::TrainSummary> follow_checkpoints(const program::Program& program, const coordinator::Connect& connect,
                                               coordinator::CoordinatorOptions with,
                                               const train::TrainOptions& options);

}  // namespace tfd::coordinate
