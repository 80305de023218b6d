// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <utility>

#include "slurm_env.hpp"
#include "slurm_tensorflow.hpp"
#include "tfd/base/text.hpp"
#include "tfd/resolve/resolver.hpp"

namespace tfd::resolve {
namespace {

Result<cluster::ClusterConfig> resolve_as_tensorflow(const Environment& env, const SlurmOptions& options,
                                                     const GpuLister& gpus) {
  if (!options.job_components.empty())
    return fail(Code::kInvalidArgument, "job '{}': TensorFlow's resolver does not support components, only counts",
                printable(options.job_components.front().first));
  const SlurmTensorflow slurm = TFD_TRY(read_slurm_as_tensorflow(env, options, gpus));
  SlurmAllocation allocation = TFD_TRY(allocate_as_tensorflow(slurm, options.auto_set_gpu));
  cluster::ClusterConfig config;
  config.cluster = std::move(allocation.cluster);
  config.task = allocation.task;
  config.visible_devices = allocation.visible_devices;
  config.num_accelerators["GPU"] = slurm.gpus_per_task;
  return config;
}

/// The ranks, job by job in the order of their names.
struct JobRanks {
  std::vector<int> order;
  JobCounts jobs;  // how many of `order` each takes
};

/// Ranks by component.
std::vector<std::vector<int>> ranks_of_components(const detail::SlurmJob& job,
                                                  const std::vector<detail::SlurmPlace>& places) {
  std::vector<std::vector<int>> ranks(static_cast<std::size_t>(std::max(job.components, 1)));
  for (std::size_t rank = 0; rank < places.size(); ++rank) {
    const int component = job.nodes[static_cast<std::size_t>(places[rank].node)].component;
    ranks[static_cast<std::size_t>(component)].push_back(static_cast<int>(rank));
  }
  return ranks;
}

/// All ranks of a job's components, which it takes away.
Result<std::vector<int>> take_components(const std::string& name, const std::vector<int>& components,
                                         const detail::SlurmJob& job, std::vector<std::vector<int>>& ranks) {
  std::vector<int> taken;
  for (const int component : components) {
    if (job.components == 0)
      return fail(Code::kFailedPrecondition, "job '{}' is component {}, but this is not a heterogeneous job",
                  printable(name), component);
    if (component >= job.components)
      return fail(Code::kFailedPrecondition, "job '{}' is component {}, but there are {}: 0 to {}", printable(name),
                  component, job.components, job.components - 1);
    auto& own = ranks[static_cast<std::size_t>(component)];
    if (own.empty())
      return fail(Code::kFailedPrecondition,
                  "job '{}' is component {}, but no task runs there (srun --het-group says where)", printable(name),
                  component);
    taken.insert(taken.end(), own.begin(), own.end());
    own.clear();
  }
  std::sort(taken.begin(), taken.end());
  return taken;
}

/// Jobs that are components have the ranks of those; jobs with counts share the others in order.
Result<JobRanks> share_by_component(const SlurmOptions& options, const detail::SlurmJob& job,
                                    const std::vector<detail::SlurmPlace>& places) {
  auto ranks = ranks_of_components(job, places);
  std::map<std::string, std::vector<int>> jobs;
  for (const auto& [name, components] : options.job_components)
    jobs[name] = TFD_TRY(take_components(name, components, job, ranks));
  std::vector<int> free;
  for (const auto& left : ranks) free.insert(free.end(), left.begin(), left.end());
  std::int64_t asked = 0;
  for (const auto& [name, count] : options.jobs) asked += count;
  if (asked != std::ssize(free))
    return fail(Code::kFailedPrecondition,
                "the jobs with counts have {} tasks together, but the components that no job names have {}", asked,
                free.size());
  JobCounts counts = options.jobs;
  std::sort(counts.begin(), counts.end());
  auto next = free.begin();
  for (const auto& [name, count] : counts) {
    jobs[name].assign(next, next + count);
    next += count;
  }
  JobRanks out;
  for (const auto& [name, own] : jobs) {
    out.order.insert(out.order.end(), own.begin(), own.end());
    out.jobs.emplace_back(name, static_cast<int>(own.size()));
  }
  return out;
}

Result<JobRanks> share_ranks(const SlurmOptions& options, const detail::SlurmJob& job,
                             const std::vector<detail::SlurmPlace>& places) {
  if (!options.job_components.empty()) return share_by_component(options, job, places);
  JobRanks out{std::vector<int>(places.size()), options.jobs};
  std::iota(out.order.begin(), out.order.end(), 0);
  if (out.jobs.empty()) out.jobs = {{"worker", static_cast<int>(job.total)}};
  std::sort(out.jobs.begin(), out.jobs.end());
  std::int64_t asked = 0;
  for (const auto& [name, count] : out.jobs) asked += count;
  if (asked == job.total) return out;
  return fail(Code::kFailedPrecondition, "the jobs have {} tasks together, but Slurm started {}", asked, job.total);
}

Result<void> assign_jobs(cluster::ClusterConfig& config, const SlurmOptions& options, const detail::SlurmJob& job,
                         const std::vector<detail::SlurmPlace>& places, const detail::SlurmPorts& ports) {
  const JobRanks ranks = TFD_TRY(share_ranks(options, job, places));
  auto rank = ranks.order.begin();
  std::string address, port_text;
  int last_port = -1;
  for (const auto& [name, count] : ranks.jobs) {
    cluster::JobTasks tasks;
    tasks.reserve(static_cast<std::size_t>(count));
    for (int i = 0; i < count; ++i, ++rank) {
      const auto& place = places[static_cast<std::size_t>(*rank)];
      const auto& node = job.nodes[static_cast<std::size_t>(place.node)];
      const int port = ports.port(node.component, place.local);
      if (std::exchange(last_port, port) != port) port_text = fmt::format(":{}", port);  // most often the same
      address.assign(node.host).append(port_text);
      if (job.rank == *rank) config.task = cluster::TaskId{name, i};
      tasks.set(i, address);
    }
    config.cluster.set_job(name, std::move(tasks));
  }
  return {};
}

/// How many tasks the fullest host of each component has.
std::vector<int> most_per_host(const detail::SlurmJob& job, const std::vector<detail::SlurmPlace>& places) {
  std::vector<int> most(static_cast<std::size_t>(std::max(job.components, 1)), 0);
  for (const auto& place : places) {
    int& here = most[static_cast<std::size_t>(job.nodes[static_cast<std::size_t>(place.node)].component)];
    here = std::max(here, place.local + 1);
  }
  return most;
}

detail::SlurmShares find_shares(const detail::SlurmJob& job, const std::vector<detail::SlurmPlace>& places,
                                const std::vector<int>& most) {
  detail::SlurmShares shares{
      .most_per_host = *std::max_element(most.begin(), most.end()), .total = job.total, .components = job.components};
  if (!job.rank) return shares;
  const auto& own = places[static_cast<std::size_t>(*job.rank)];
  const auto& own_node = job.nodes[static_cast<std::size_t>(own.node)];
  shares.most_per_host = most[static_cast<std::size_t>(own_node.component)];
  shares.own_local = own.local;
  for (const detail::SlurmNode& node : job.nodes)
    if (node.host == own_node.host) shares.own_host += node.tasks;
  return shares;
}

Result<cluster::ClusterConfig> resolve_as_it_is(const Environment& env, const SlurmOptions& options,
                                                const GpuLister& gpus) {
  const detail::SlurmJob job = TFD_TRY(detail::read_slurm_job(env, options));
  const auto places = TFD_TRY(detail::place_ranks(env, options, job));
  const std::vector<int> most = most_per_host(job, places);
  const auto ports = TFD_TRY(detail::SlurmPorts::choose(env, options, most));

  cluster::ClusterConfig config;
  TFD_TRY(assign_jobs(config, options, job, places, ports));
  config.no_task_reason = job.no_task_reason;
  const auto gpu_share = TFD_TRY(detail::share_gpus(env, options, gpus, find_shares(job, places, most)));
  if (gpu_share.per_task > 0) config.num_accelerators["GPU"] = gpu_share.per_task;
  config.visible_devices = gpu_share.visible_devices;
  config.visible_devices_variable = gpu_share.variable;
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
