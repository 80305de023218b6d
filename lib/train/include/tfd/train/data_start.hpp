#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Starting position of a training's data. Private to the room. Thread rule: the training's thread.
#include "tfd/step/replica_runner.hpp"
#include "tfd/train/training.hpp"
#include "tfd/variable/checkpoint.hpp"

namespace tfd::train {

/// Continues the data of steps from the checkpoint's position. Without one, or if datasets have changed, they restart
/// in an order derived from its step; an unstated seed is drawn. Null: no checkpoint, or one from another training.
void begin_data(step::ReplicaRunner& runner, const variable::Checkpoint* from, const TrainOptions& options);

}  // namespace tfd::train
