// SPDX-License-Identifier: Apache-2.0
//
// ParameterServerStrategy (v1) as a Runner.
#include <algorithm>
#include <nlohmann/json.hpp>

#include "runners.hpp"
#include "tfd/base/text.hpp"
#include "tfd/strategy/ps_run.hpp"
#include "tfd/strategy/ps_training.hpp"

namespace tfd::strategy {
namespace {

RunnerRole role_of(const ParameterServerStrategy& strategy) {
  RunnerRole role{.task = strategy.task_name()};
  if (strategy.is_evaluator()) role.job = TaskJob::kEvaluate;
  if (strategy.is_parameter_server()) role.job = TaskJob::kServe;
  role.is_chief = strategy.is_chief() && role.job == TaskJob::kTrain;
  role.workers = std::max<std::int64_t>(1, static_cast<std::int64_t>(strategy.clients().size()));
  return role;
}

class ParameterServerRunner final : public Runner {
 public:
  explicit ParameterServerRunner(ParameterServerStrategy strategy)
      : strategy_(std::move(strategy)), role_(role_of(strategy_)) {}

  const RunnerRole& role() const override { return role_; }
  Result<std::string> describe() const override {
    if (role_.job == TaskJob::kServe) return role_.task + " serves variables";
    if (role_.job == TaskJob::kEvaluate) return role_.task + " evaluates checkpoints";
    const auto input = TFD_TRY(strategy_.input_context());
    return fmt::format("{} of {} workers{}, {}, variables on {}", role_.task, input.num_input_pipelines,
                       role_.is_chief ? " (chief)" : "",
                       counted(static_cast<std::uint64_t>(input.num_replicas_in_sync), "replica"),
                       fmt::join(strategy_.parameter_devices(), ", "));
  }
  std::optional<std::string> why_on_host(const program::Program&) const override { return "a cluster"; }
  Result<nlohmann::ordered_json> explain(const program::Program&, ExplainOptions) const override {
    return fail(Code::kUsage, "--explain is about a training in this process, not on a cluster");
  }
  Result<train::TrainSummary> train(const program::Program& program, RunOptions options) override {
    return train_on_parameter_servers(program, strategy_, std::move(options));
  }
  Result<train::TrainSummary> run_function(const program::Program& program, const RunRequest& request,
                                           RunOptions options) override {
    return run_on_parameter_servers(program, strategy_, std::move(options), request);
  }

 private:
  const ParameterServerStrategy strategy_;
  const RunnerRole role_;
};

}  // namespace

Result<std::unique_ptr<Runner>> make_parameter_server_runner(RunnerOptions options) {
  auto strategy = TFD_TRY(
      ParameterServerStrategy::make(std::move(options.config), {.kind = "CPU", .count = options.devices.replicas()}));
  return std::make_unique<ParameterServerRunner>(std::move(strategy));
}

}  // namespace tfd::strategy
