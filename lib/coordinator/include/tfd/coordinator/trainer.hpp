#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Runs the `train` block of a program: schedules its steps, keeps few of them in flight (stale gradients help nobody),
// evaluates and checkpoints between steps (when nothing is in flight, so that both are of a defined step), and says
// what happens as JSON lines (design, "The program"). It doesn't read signals and prints nothing: Interrupts and the
// sinks of TrainOptions are the tool's.
// Thread rule: train() blocks its thread, which alone calls the sinks; Interrupts is thread-safe.
#include <functional>
#include <memory>

#include "tfd/coordinator/cluster_coordinator.hpp"
#include "tfd/train/epochs.hpp"
#include "tfd/train/training.hpp"

namespace tfd::coordinator {

using train::epochs_as_steps;
using train::Interrupts;
using train::Metrics;
using train::TrainOptions;
using train::TrainProgress;
using train::TrainSummary;

/// Makes the coordinator once it is known that something is left to do.
using Connect = std::function<Result<std::unique_ptr<ClusterCoordinator>>(CoordinatorOptions)>;

/// The timeline gets a lane for each worker, and what it did for each closure: from the call, or the answer to the one
/// before it, to the answer. The step is the closure's number.
void trace_workers(CoordinatorOptions& options, std::shared_ptr<train::Trace> trace);

/// program.train must be there. Errors: those of a step (its task set); kUnavailable for a lost parameter server, with
/// the checkpoint to continue from; kOutOfRange when the data end before the steps that were promised; those of reading
/// or writing a checkpoint.
Result<TrainSummary> train(const program::Program& program, const Connect& connect, CoordinatorOptions coordinator,
                           TrainOptions options);

/// Beside a training: evaluates every checkpoint that appears in train.checkpoint.dir, in their order, as `eval` events
/// with step and path, until the one of the last step (or for ever where the steps aren't known) or an interruption.
/// Needs train.evaluate and train.checkpoint: kInvalidArgument.
Result<TrainSummary> follow_checkpoints(const program::Program& program, const Connect& connect,
                                        CoordinatorOptions coordinator, TrainOptions options);

}  // namespace tfd::coordinator
