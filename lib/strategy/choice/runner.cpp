// SPDX-License-Identifier: Apache-2.0
#include "tfd/strategy/runner.hpp"

#include "runners.hpp"

namespace tfd::strategy {

Result<std::unique_ptr<Runner>> make_runner(RunnerOptions options) {
  const bool has_group = options.kind == &kMultiWorkerMirroredKind || options.kind == &kTpuKind;
  if (!options.config.cluster.empty())
    return has_group ? make_group_runner(std::move(options)) : make_parameter_server_runner(std::move(options));
  const Kind* const stated = options.kind;
  if (options.kind == nullptr || !options.kind->is_of_one_host)
    options.kind = options.devices.replicas() > 1 ? &kMirroredKind : &kOneDeviceKind;
  std::string name((has_group ? stated : options.kind)->name);  // a group of one is still a group
  return make_device_runner(std::move(options), std::move(name));
}

DeviceTrainingOptions device_options(const RunnerOptions& runner, RunOptions options) {
  return {.make_engine = std::move(options.make_engine),
          .replicas = runner.devices.replicas(),
          .logical_devices = runner.devices.logical_devices,
          .step = runner.step,
          .threads = std::move(options.threads),
          .data_root = std::move(options.data_root),
          .command_environment = std::move(options.command_environment),
          .on_begin = std::move(options.on_begin),
          .train = std::move(options.train)};
}

}  // namespace tfd::strategy
