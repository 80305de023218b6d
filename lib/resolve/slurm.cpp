// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>

#include "slurm_env.hpp"
#include "tfd/base/text.hpp"
#include "tfd/resolve/resolver.hpp"
#include "tfd/resolve/slurm_tensorflow.hpp"

namespace tfd::resolve {
namespace {

Result<cluster::ClusterConfig> resolve_as_tensorflow(const Environment& env, const SlurmOptions& options,
                                                     const GpuLister& gpus) {
  const SlurmTensorflow slurm = TFD_TRY(read_slurm_as_tensorflow(env, options, gpus));
  SlurmAllocation allocation = TFD_TRY(allocate_as_tensorflow(slurm, options.auto_set_gpu));
  cluster::ClusterConfig config;
  config.cluster = std::move(allocation.cluster);
  config.task = allocation.task;
  config.visible_devices = allocation.visible_devices;
  config.num_accelerators["GPU"] = slurm.gpus_per_task;
  return config;
}

/// Ranks in order are handed to the jobs by name: chief, ps, worker.
Result<void> assign_jobs(cluster::ClusterConfig& config, const SlurmOptions& options, const detail::SlurmJob& job,
                         const std::vector<detail::SlurmPlace>& places, const detail::SlurmPorts& ports) {
  JobCounts jobs = options.jobs;
  if (jobs.empty()) jobs = {{"worker", static_cast<int>(job.total)}};
  std::sort(jobs.begin(), jobs.end());
  std::int64_t asked = 0;
  for (const auto& [name, count] : jobs) asked += count;
  if (asked != job.total)
    return fail(Code::kFailedPrecondition, "the jobs have {} tasks together, but Slurm started {}", asked, job.total);
  std::size_t rank = 0;
  std::string address;
  for (const auto& [name, count] : jobs) {
    config.cluster.add_job(name);
    for (int i = 0; i < count; ++i, ++rank) {
      const auto& place = places[rank];
      address = job.nodes[static_cast<std::size_t>(place.node)].host;
      address += ':';
      address += std::string_view(fmt::format_int(ports.port(place.local)).c_str());
      if (job.rank == static_cast<int>(rank)) config.task = cluster::TaskId{name, i};
      config.cluster.add_task(name, i, address);
    }
  }
  return {};
}

Result<cluster::ClusterConfig> resolve_as_it_is(const Environment& env, const SlurmOptions& options,
                                                const GpuLister& gpus) {
  const detail::SlurmJob job = TFD_TRY(detail::read_slurm_job(env, options));
  const auto places = TFD_TRY(detail::place_ranks(env, options, job));
  detail::SlurmShares shares;
  for (const auto& place : places) shares.most_per_host = std::max(shares.most_per_host, place.local + 1);
  const auto ports = TFD_TRY(detail::SlurmPorts::choose(env, options, shares.most_per_host));

  cluster::ClusterConfig config;
  TFD_TRY(assign_jobs(config, options, job, places, ports));
  config.no_task_reason = job.no_task_reason;
  if (job.rank) {
    const auto& own = places[static_cast<std::size_t>(*job.rank)];
    shares.own_local = own.local;
    for (const detail::SlurmNode& node : job.nodes)
      if (node.host == job.nodes[static_cast<std::size_t>(own.node)].host) shares.own_host += node.tasks;
  }
  const detail::SlurmGpus shared = TFD_TRY(detail::share_gpus(env, options, gpus, shares));
  if (shared.per_task > 0) config.num_accelerators["GPU"] = shared.per_task;
  config.visible_devices = shared.visible_devices;
  return config;
}

}  // namespace

Result<cluster::ClusterConfig> resolve_slurm(const Environment& env, const SlurmOptions& options,
                                             const GpuLister& gpus) {
  cluster::ClusterConfig config = options.compat == Compat::kTensorflow
                                      ? TFD_TRY(resolve_as_tensorflow(env, options, gpus))
                                      : TFD_TRY(resolve_as_it_is(env, options, gpus));
  config.rpc_layer = options.rpc_layer;
  config.environment = "";
  config.resolver = "slurm";
  if (config.task)
    config.master = cluster::format_url(options.rpc_layer,
                                        TFD_TRY(config.cluster.task_address(config.task->job, config.task->index)));
  return config;
}

}  // namespace tfd::resolve
