// SPDX-License-Identifier: Apache-2.0
#include "tfd/strategy/parameter_server.hpp"

#include <algorithm>

#include "tfd/cluster/roles.hpp"
#include "tfd/variable/sharding.hpp"

namespace tfd::strategy {

Result<ParameterServerStrategy> ParameterServerStrategy::make(cluster::ClusterConfig config, LocalDevices devices) {
  if (devices.count < 1)
    return fail(Code::kInvalidArgument, "a worker needs at least one replica, not {}", devices.count);
  ParameterServerStrategy out(std::move(config), std::move(devices));
  const cluster::ClusterSpec& spec = out.config_.cluster;
  if (spec.empty()) {
    out.config_.task.reset();
    out.clients_ = {out.task_name()};
    return out;
  }
  if (!out.config_.task)
    return fail(Code::kInvalidArgument,
                "which task is this? --task worker:0; to train on the whole cluster: tfd-coordinate{}{}",
                out.config_.no_task_reason.empty() ? "" : " (",
                out.config_.no_task_reason.empty() ? "" : out.config_.no_task_reason + ")");
  if (!spec.has_job("ps") || spec.find_job("ps")->empty())
    return fail(Code::kInvalidArgument, "the cluster spec needs to have `ps` jobs");
  TFD_TRY(cluster::validate_roles(spec, out.config_.task));
  for (const int index : TFD_TRY(spec.task_indices("ps"))) out.servers_.push_back(index);
  if (out.is_evaluator()) {
    out.clients_ = {out.task_name()};
    return out;
  }
  for (const char* job : {"chief", "worker"}) {
    if (!spec.has_job(job)) continue;
    for (const int index : TFD_TRY(spec.task_indices(job))) out.clients_.push_back(fmt::format("{}:{}", job, index));
  }
  const auto own = std::ranges::find(out.clients_, out.task_name());
  if (own != out.clients_.end()) out.client_index_ = static_cast<int>(own - out.clients_.begin());
  return out;
}

bool ParameterServerStrategy::is_chief() const {
  return !config_.task || cluster::is_chief(config_.cluster, *config_.task);
}

std::string ParameterServerStrategy::task_name() const {
  return config_.task ? cluster::format_task(*config_.task) : "local";
}

std::vector<std::string> ParameterServerStrategy::worker_devices() const {
  const std::string task = config_.task
                               ? fmt::format("/job:{}/replica:0/task:{}", config_.task->job, config_.task->index)
                               : "/replica:0/task:0";
  std::vector<std::string> out;
  for (int i = 0; i < devices_.count; ++i) out.push_back(fmt::format("{}/device:{}:{}", task, devices_.kind, i));
  return out;
}

std::vector<std::string> ParameterServerStrategy::parameter_devices() const {
  // Variables are on the device if there is only one; else on the CPU.
  if (is_local()) return devices_.count == 1 ? worker_devices() : std::vector<std::string>{"/device:CPU:0"};
  std::vector<std::string> out;
  for (const int index : servers_) out.push_back(fmt::format("/job:ps/task:{}", index));
  return out;
}

std::vector<std::string> ParameterServerStrategy::device_filters() const {
  if (is_local() || is_parameter_server()) return {};
  std::vector<std::string> out{fmt::format("/job:{}/task:{}", config_.task->job, config_.task->index)};
  if (!is_evaluator()) out.emplace_back("/job:ps");
  return out;
}

Result<InputContext> ParameterServerStrategy::input_context() const {
  InputContext out{.num_replicas_in_sync = num_replicas_in_sync()};
  if (is_local()) return out;
  out.input_pipeline_id = TFD_TRY(cluster::id_in_cluster(config_.cluster, *config_.task));
  out.num_input_pipelines = TFD_TRY(cluster::worker_count(config_.cluster, config_.task->job));
  return out;
}

Result<StrategyVariable> ParameterServerStrategy::create_variable(const std::string& name,
                                                                  variable::Aggregation aggregation,
                                                                  const std::string& colocate_with) {
  if (variables_.contains(name)) return fail(Code::kInvalidArgument, "variable '{}' already exists", name);
  const auto devices = parameter_devices();
  StrategyVariable placed{name, 0, {}, aggregation, num_replicas_in_sync() > 1};
  if (colocate_with.empty()) {
    placed.ps = next_++ % static_cast<int>(devices.size());
  } else {
    const auto beside = variables_.find(colocate_with);
    if (beside == variables_.end())
      return fail(Code::kInvalidArgument, "variable '{}' can't be colocated with '{}', which does not exist", name,
                  colocate_with);
    placed.ps = beside->second.ps;
  }
  placed.device = devices[static_cast<std::size_t>(placed.ps)];
  variables_.emplace(name, placed);
  return placed;
}

Result<std::vector<StrategyVariable>> ParameterServerStrategy::create_partitioned_variable(
    const std::string& name, variable::Aggregation aggregation, int parts) {
  if (parts < 1) return fail(Code::kInvalidArgument, "variable '{}' can't be in {} parts", name, parts);
  if (variables_.contains(name)) return fail(Code::kInvalidArgument, "variable '{}' already exists", name);
  std::vector<StrategyVariable> out;
  for (int i = 0; i < parts; ++i) out.push_back(TFD_TRY(create_variable(variable::shard_name(name, i), aggregation)));
  return out;
}

Result<StrategyVariable> ParameterServerStrategy::create_global_step() {
  return create_variable(std::string(kGlobalStep), variable::Aggregation::kOnlyFirstReplica);
}

}  // namespace tfd::strategy
