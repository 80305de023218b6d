#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// The makers of the runners, for make_runner(). Private to the room. Thread rule: functions without state.
#include "tfd/strategy/device_training.hpp"
#include "tfd/strategy/runner.hpp"

namespace tfd::strategy {

/// Makes the runner of a strategy of one process, which is `options.kind`. `name`: what an explanation calls it.
Result<std::unique_ptr<Runner>> make_device_runner(RunnerOptions options, std::string name);
/// Makes the runner of a worker or evaluator of MultiWorkerMirroredStrategy, in a cluster.
Result<std::unique_ptr<Runner>> make_group_runner(RunnerOptions options);
/// Makes the runner of a worker, evaluator or parameter server of ParameterServerStrategy (v1).
Result<std::unique_ptr<Runner>> make_parameter_server_runner(RunnerOptions options);

/// The training on this process's devices that these options ask for.
DeviceTrainingOptions device_options(const RunnerOptions& runner, RunOptions options);

}  // namespace tfd::strategy
