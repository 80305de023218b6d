// SPDX-License-Identifier: Apache-2.0
#include "slurm_tensorflow.hpp"

#include <algorithm>
#include <limits>
#include <map>

#include "slurm_env.hpp"
#include "tfd/base/text.hpp"
#include "tfd/resolve/hostlist.hpp"

namespace tfd::resolve {
namespace {

using HostCounts = std::map<std::string, int>;

Result<std::string> step_variable(const Environment& env, std::string_view name) {
  if (const auto value = env.find(name)) return *value;
  return fail(Code::kFailedPrecondition, "{} is not set: not inside a Slurm step?", name);
}

Result<HostCounts> read_hosts(const Environment& env, const SlurmOptions& options) {
  HostCounts hosts;
  if (options.tasks_per_node) {
    if (const auto* given = std::get_if<1>(&*options.tasks_per_node)) {
      for (const auto& [host, count] : *given) hosts[host] = count;
      return hosts;
    }
  }
  const std::string list = TFD_TRY(step_variable(env, "SLURM_STEP_NODELIST"));
  const auto names = TFD_TRY(expand_hostlist(list, Compat::kTensorflow), "SLURM_STEP_NODELIST");
  if (options.tasks_per_node) {
    for (const std::string& name : names) hosts[name] = std::get<0>(*options.tasks_per_node);
    return hosts;
  }
  const std::string text = TFD_TRY(step_variable(env, "SLURM_STEP_TASKS_PER_NODE"));
  const auto counts = TFD_TRY(expand_tasks_per_node(text), "SLURM_STEP_TASKS_PER_NODE");
  for (std::size_t i = 0; i < std::min(names.size(), counts.size()); ++i)
    hosts[names[i]] = counts[i];  // the last counts
  return hosts;
}

Result<int> read_gpus_per_node(const Environment& env, const SlurmOptions& options, const GpuLister& gpus) {
  if (options.gpus_per_node) return *options.gpus_per_node;
  if (const auto visible = env.find("CUDA_VISIBLE_DEVICES"))
    return static_cast<int>(split(*visible, ',').size());  // 1 for an empty value
  const std::optional<int> listed = gpus ? TFD_TRY(gpus()) : std::nullopt;
  if (listed) return *listed;
  return fail(Code::kFailedPrecondition, "nvidia-smi is not installed, CUDA_VISIBLE_DEVICES is not set");
}

}  // namespace

Result<SlurmTensorflow> read_slurm_as_tensorflow(const Environment& env, const SlurmOptions& options,
                                                 const GpuLister& gpus) {
  SlurmTensorflow slurm;
  const std::string rank = TFD_TRY(step_variable(env, "SLURM_PROCID"));
  slurm.rank = TFD_TRY(detail::slurm_integer("SLURM_PROCID", rank));
  slurm.jobs = options.jobs;
  if (slurm.jobs.empty()) {
    const std::string tasks = TFD_TRY(step_variable(env, "SLURM_STEP_NUM_TASKS"));
    slurm.jobs = {{"worker", TFD_TRY(detail::slurm_integer("SLURM_STEP_NUM_TASKS", tasks))}};
  }
  std::sort(slurm.jobs.begin(), slurm.jobs.end());
  const HostCounts hosts = TFD_TRY(read_hosts(env, options));
  if (hosts.empty()) return fail(Code::kInvalidArgument, "no hosts");
  slurm.hosts.assign(hosts.begin(), hosts.end());

  std::int64_t total = 0, most = 0, asked = 0;
  for (const auto& [host, count] : hosts) {
    total += count;
    most = std::max<std::int64_t>(most, count);
  }
  for (const auto& [job, count] : slurm.jobs) asked += count;
  if (total > kMostTasks)
    return fail(Code::kInvalidArgument, "{} tasks are more than the limit of {}", total, kMostTasks);

  slurm.port_base = options.port_base.value_or(8888);
  slurm.gpus_per_node = TFD_TRY(read_gpus_per_node(env, options, gpus));
  if (!options.gpus_per_task && most == 0) return fail(Code::kInvalidArgument, "no host has a task");
  slurm.gpus_per_task = options.gpus_per_task ? *options.gpus_per_task : slurm.gpus_per_node / static_cast<int>(most);
  if (most * slurm.gpus_per_task > slurm.gpus_per_node)
    return fail(Code::kFailedPrecondition,
                "requested more GPUs per node than available: {} tasks with {} each, {} available", most,
                slurm.gpus_per_task, slurm.gpus_per_node);
  if (asked != total)
    return fail(Code::kFailedPrecondition, "requested {} tasks but only {} were assigned", asked, total);
  return slurm;
}

Result<SlurmAllocation> allocate_as_tensorflow(const SlurmTensorflow& slurm, bool auto_set_gpu) {
  if (slurm.gpus_per_task <= 0)
    return fail(Code::kInvalidArgument, "{} GPUs for a task: TensorFlow's resolver needs at least one",
                slurm.gpus_per_task);
  SlurmAllocation out;
  std::vector<std::string> addresses;
  for (const auto& [host, count] : slurm.hosts) {
    for (int k = 0; k < count && k * slurm.gpus_per_task < slurm.gpus_per_node; ++k) {
      addresses.push_back(host + ':' + fmt::format_int(slurm.port_base + k).str());
      std::string devices;
      for (int gpu = 0; gpu < slurm.gpus_per_task; ++gpu) {
        if (gpu > 0) devices += ',';
        devices += fmt::format_int(k * slurm.gpus_per_task + gpu).str();
      }
      out.devices_by_rank.push_back(std::move(devices));
    }
  }
  std::int64_t next = 0;
  for (const auto& [job, count] : slurm.jobs) {
    out.cluster.add_job(job);
    if (slurm.rank >= next && slurm.rank < next + count)
      out.task = cluster::TaskId{job, static_cast<int>(slurm.rank - next)};
    for (int i = 0; i < count && next + i < static_cast<std::int64_t>(addresses.size()); ++i)
      out.cluster.add_task(job, i, addresses[static_cast<std::size_t>(next + i)]);
    next += count;
  }
  if (!auto_set_gpu) return out;
  const auto size = static_cast<std::int64_t>(out.devices_by_rank.size());
  const std::int64_t at = slurm.rank < 0 ? slurm.rank + size : slurm.rank;  // a Python index
  if (at < 0 || at >= size) return fail(Code::kInvalidArgument, "rank {} is not one of {} tasks", slurm.rank, size);
  out.visible_devices = out.devices_by_rank[static_cast<std::size_t>(at)];
  return out;
}

}  // namespace tfd::resolve
