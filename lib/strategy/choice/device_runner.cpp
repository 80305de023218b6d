// SPDX-License-Identifier: Apache-2.0
//
// The strategies of one process: their variables are on the devices, or on the host where the strategy says so or the
// program needs it.
#include <nlohmann/json.hpp>

#include "runners.hpp"
#include "tfd/base/text.hpp"
#include "tfd/strategy/device_training.hpp"
#include "tfd/strategy/ps_training.hpp"

namespace tfd::strategy {
namespace {

class DeviceRunner final : public Runner {
 public:
  DeviceRunner(RunnerOptions options, std::string name) : options_(std::move(options)), name_(std::move(name)) {}

  const RunnerRole& role() const override { return role_; }
  Result<std::string> describe() const override {
    return fmt::format("in this process, {}", counted(static_cast<std::uint64_t>(replicas()), "replica"));
  }

  std::optional<std::string> why_on_host(const program::Program& program) const override {
    if (options_.kind->variables == VariablePlace::kHost) return fmt::format("--strategy {}", options_.kind->name);
    return why_not_on_devices(program, options_.devices);
  }

  Result<nlohmann::ordered_json> explain(const program::Program& program, ExplainOptions options) const override {
    options.strategy = name_;
    options.devices = options_.devices;
    options.why_on_host = why_on_host(program);
    options.step = options_.step;
    return strategy::explain(program, options);
  }

  Result<train::TrainSummary> train(const program::Program& program, RunOptions options) override {
    if (const auto why_not = why_on_host(program)) {
      options.train.log.info("the variables are on the host: {}", *why_not);
      auto strategy = TFD_TRY(ParameterServerStrategy::make({}, {.kind = "CPU", .count = replicas()}));
      return train_on_parameter_servers(program, std::move(strategy), std::move(options));
    }
    return train_on_devices(program, device_options(options_, std::move(options)));
  }

  Result<train::TrainSummary> run_function(const program::Program& program, const RunRequest& request,
                                           RunOptions options) override {
    const auto strategy = TFD_TRY(Strategy::make({.kind = options_.kind,
                                                  .devices = options_.devices,
                                                  .tpu = options_.tpu,
                                                  .make_engine = options.make_engine,
                                                  .compat = options_.compat,
                                                  .data_root = options.data_root,
                                                  .command_environment = options.command_environment}));
    return strategy::run_function(program, *strategy, request, options.train, options.on_begin);
  }

 private:
  int replicas() const { return options_.devices.replicas(); }

  const RunnerOptions options_;
  const std::string name_;
  const RunnerRole role_;
};

}  // namespace

Result<std::unique_ptr<Runner>> make_device_runner(RunnerOptions options, std::string name) {
  return std::make_unique<DeviceRunner>(std::move(options), std::move(name));
}

}  // namespace tfd::strategy
