#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Where the data of a training begin, or go on. Private to the room. Thread rule: the training's thread.
#include "tfd/step/replica_runner.hpp"
#include "tfd/train/training.hpp"
#include "tfd/variable/checkpoint.hpp"

namespace tfd::train {

/// The data of steps go on where the checkpoint says that they stood. Where it doesn't, or where datasets have changed,
/// they begin again, in an order that follows from its step; an order that nothing states is drawn. Null: no
/// checkpoint, or one that another training begins with.
void begin_data(step::ReplicaRunner& runner, const variable::Checkpoint* from, const TrainOptions& options);

}  // namespace tfd::train
