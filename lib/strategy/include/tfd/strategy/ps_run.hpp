#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Runs one function on the replicas of one worker of ParameterServerStrategy (v1), whose variables are on the parameter
// servers of a cluster. Thread rule: blocks its thread, which alone calls the sinks.
#include "tfd/strategy/function_run.hpp"
#include "tfd/strategy/ps_training.hpp"

namespace tfd::strategy {

/// Runs a function, as run_function(), on this worker's part of the data. The variables may also be those of a training
/// in progress on the parameter servers. The strategy isn't local. Errors as train_on_parameter_servers().
Result<train::TrainSummary> run_on_parameter_servers(const program::Program& program,
                                                     const ParameterServerStrategy& strategy, RunOptions options,
                                                     const RunRequest& request);

}  // namespace tfd::strategy
