#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Runs the `train` block of a program: schedules its steps, keeps few of them in flight (to avoid stale gradients),
// evaluates and checkpoints between steps (when nothing is in flight, so that both are of a defined step), and reports
// events as JSON lines (design, "The program"). It doesn't read signals and prints nothing: Interrupts and the sinks of
// TrainOptions are the tool's. Thread rule: train() blocks its thread, which alone calls the sinks; Interrupts is
// thread-safe.
#include <functional>
#include <memory>

#include "tfd/coordinator/cluster_coordinator.hpp"
#include "tfd/train/epochs.hpp"
#include "tfd/train/train_loop.hpp"
#include "tfd/train/training.hpp"

namespace tfd::coordinator {

using train::epochs_as_steps;
using train::Interrupts;
using train::Metrics;
using train::TrainOptions;
using train::TrainProgress;
using train::TrainSummary;

/// Makes the coordinator; called only if something is left to do.
using Connect = std::function<Result<std::unique_ptr<ClusterCoordinator>>(CoordinatorOptions)>;

/// Adds a lane for each worker to the timeline, with a span per closure: from the call, or the answer to the previous
/// one, to the answer. The span's step is the closure's number.
void trace_workers(CoordinatorOptions& options, std::shared_ptr<train::Trace> trace);

/// Decides whether a training goes on that has lost a parameter server, the error's task, and how; nullopt: it ends,
/// with the error, to which the reason may be added.
using OnServerLost = std::function<std::optional<train::ServerLoss>(Error& lost)>;

/// Trains by program.train, which must exist. If a parameter server is lost and `on_lost` says so, it begins again,
/// with another coordinator: from its newest checkpoint, from what the parameter servers have if none of them is
/// another process, or from the beginning. Errors: those of a step (its task set); kUnavailable for a lost parameter
/// server, with the checkpoint to continue from; kOutOfRange if the data end before the stated steps; those of reading
/// or writing a checkpoint.
Result<TrainSummary> train(const program::Program& program, const Connect& connect, CoordinatorOptions coordinator,
                           TrainOptions options, const OnServerLost& on_lost = {});

}  // namespace tfd::coordinator
