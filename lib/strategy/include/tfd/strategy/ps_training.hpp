#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Trains a program as one worker of ParameterServerStrategy (v1): reads the current variables, computes one update of
// all its replicas, pushes it, and never waits for another worker. The chief creates (or restores) the variables and
// saves checkpoints; the others wait for it; an evaluator evaluates the checkpoints as they appear. Thread rule: blocks
// its thread, which alone calls the sinks.
#include "tfd/strategy/parameter_server.hpp"
#include "tfd/strategy/run_options.hpp"
#include "tfd/train/training.hpp"

namespace tfd::strategy {

/// Trains by program.train, which must exist. kUnavailable (its task set): a parameter server is lost;
/// kDeadlineExceeded: a parameter server, or the chief, isn't up in time; kOutOfRange: the data ended before the stated
/// steps; kInvalidArgument: the parameter servers hold another program; kUnimplemented names a feature that only
/// tfd-coordinate has.
Result<train::TrainSummary> train_on_parameter_servers(const program::Program& program,
                                                       ParameterServerStrategy strategy, RunOptions options);

}  // namespace tfd::strategy
