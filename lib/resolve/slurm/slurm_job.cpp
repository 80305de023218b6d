// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <limits>
#include <unordered_set>

#include "slurm_env.hpp"
#include "tfd/base/text.hpp"
#include "tfd/base/units.hpp"
#include "tfd/resolve/hostlist.hpp"

namespace tfd::resolve::detail {
namespace {

/// Step ids from here on are Slurm's own: pending, external, batch and interactive steps (slurm.h).
constexpr std::int64_t kFirstSpecialStep = 0xfffffff0;

/// The first that is set.
template <std::size_t Count>
std::optional<SlurmVariable> find_first(const Environment& env, const std::array<std::string_view, Count>& names) {
  for (const std::string_view name : names)
    if (auto value = env.find(name)) return SlurmVariable{std::string(name), std::move(*value)};
  return std::nullopt;
}

bool in_special_step(const Environment& env) {
  const auto step = parse_integer(env.get("SLURM_STEP_ID", "0"), 0, std::numeric_limits<std::int64_t>::max());
  return step && *step >= kFirstSpecialStep;
}

bool has_other_hosts(const std::string& step, const std::string& job) {
  if (step == job) return false;
  const auto all = expand_hostlist(job, Compat::kNone), some = expand_hostlist(step, Compat::kNone);
  if (!all || !some) return false;  // said where they are read
  const std::unordered_set<std::string_view> there(all->begin(), all->end());
  return std::any_of(some->begin(), some->end(), [&](const std::string& host) { return !there.contains(host); });
}

/// sbatch and salloc hand their environment on, so a job that a step submitted sees that step's variables beside its
/// own: they name hosts that aren't the job's, or other counts (which `srun --preserve-env` does too, but that one sets
/// SLURM_UMASK, which a batch script lacks).
bool left_by_another_job(const Environment& env) {
  const auto hosts = env.find("SLURM_JOB_NODELIST"), step_hosts = env.find("SLURM_STEP_NODELIST");
  if (hosts && step_hosts && has_other_hosts(*step_hosts, *hosts)) return true;
  const auto counts = env.find("SLURM_TASKS_PER_NODE"), step_counts = env.find("SLURM_STEP_TASKS_PER_NODE");
  return hosts && counts && step_counts && *counts != *step_counts && !env.has("SLURM_UMASK");
}

enum class Where { kTask, kInteractive, kBatch, kOutside };

/// A task is a process that srun started: a batch script has SLURM_PROCID=0 too, but belongs to no step.
Where find_where(const Environment& env) {
  if (!env.has("SLURM_STEP_ID") && !env.has("SLURM_STEP_NODELIST"))
    return env.has("SLURM_PROCID") ? Where::kBatch : Where::kOutside;
  if (in_special_step(env)) return Where::kInteractive;
  if (left_by_another_job(env)) return Where::kBatch;
  return env.has("SLURM_PROCID") ? Where::kTask : Where::kOutside;
}

Result<void> read_rank(const Environment& env, Where where, SlurmJob& job) {
  if (where == Where::kTask) {
    job.rank = TFD_TRY(slurm_integer("SLURM_PROCID", env.get("SLURM_PROCID")));
  } else if (!env.has("SLURM_PROCID")) {
    job.no_task_reason = "SLURM_PROCID is not set; srun starts the tasks";
  } else {
    job.no_task_reason = fmt::format("SLURM_PROCID is the {} step's; srun starts the tasks",
                                     where == Where::kInteractive ? "interactive" : "batch");
  }
  return {};
}

Result<std::vector<SlurmNode>> read_plain_nodes(const Environment& env, const SlurmOptions& options, bool step) {
  std::vector<SlurmNode> nodes;
  const auto list =
      step ? find_first<1>(env, {"SLURM_STEP_NODELIST"}) : find_first<2>(env, {"SLURM_JOB_NODELIST", "SLURM_NODELIST"});
  if (!list)
    return fail(Code::kFailedPrecondition,
                "neither SLURM_STEP_NODELIST nor SLURM_JOB_NODELIST is set: not in a Slurm job?");
  if (options.tasks_per_node) {
    const int tasks = std::get<0>(*options.tasks_per_node);
    TFD_TRY(each_host(list->value, Compat::kNone,
                      [&](const std::string& host) {
                        nodes.push_back({host, tasks});
                      }),
            list->name);
    return nodes;
  }
  const auto counts = step ? find_first<2>(env, {"SLURM_STEP_TASKS_PER_NODE", "SLURM_TASKS_PER_NODE"})
                           : find_first<1>(env, {"SLURM_TASKS_PER_NODE"});
  if (!counts)
    return fail(Code::kFailedPrecondition, "{} is not set: give --tasks-per-node",
                step ? "SLURM_STEP_TASKS_PER_NODE" : "SLURM_TASKS_PER_NODE");
  return zip_nodes(*list, *counts, 0);
}

Result<std::vector<SlurmNode>> read_nodes(const Environment& env, const SlurmOptions& options, int components,
                                          Where where) {
  std::vector<SlurmNode> nodes;
  const auto* given = options.tasks_per_node ? std::get_if<1>(&*options.tasks_per_node) : nullptr;
  const bool step = env.has("SLURM_STEP_NODELIST") && where != Where::kInteractive && where != Where::kBatch;
  if (given != nullptr) {
    for (const auto& [host, count] : *given) nodes.push_back({host, count});
  } else if (components > 0 && !step) {
    return read_component_nodes(
        env, components, options.tasks_per_node ? std::optional(std::get<0>(*options.tasks_per_node)) : std::nullopt);
  } else {
    nodes = TFD_TRY(read_plain_nodes(env, options, step));
  }
  if (components > 0) TFD_TRY(sort_by_component(env, components, nodes));
  return nodes;
}

}  // namespace

Result<int> slurm_integer(std::string_view name, std::string_view value) {
  const auto number = parse_integer(value, std::numeric_limits<int>::min(), std::numeric_limits<int>::max());
  if (!number) return fail(Code::kInvalidArgument, "{}: '{}' is not an integer", name, printable(value));
  return static_cast<int>(*number);
}

Result<SlurmJob> read_slurm_job(const Environment& env, const SlurmOptions& options) {
  SlurmJob job;
  const Where where = find_where(env);
  job.components = count_components(env);
  job.nodes = TFD_TRY(read_nodes(env, options, job.components, where));
  for (const SlurmNode& node : job.nodes) job.total += node.tasks;
  if (job.total > kMostTasks)
    return fail(Code::kInvalidArgument, "{} tasks are more than the limit of {}", job.total, kMostTasks);
  if (job.total == 0) return fail(Code::kInvalidArgument, "no task on any of {} hosts", job.nodes.size());
  TFD_TRY(read_rank(env, where, job));
  if (job.rank && (*job.rank < 0 || *job.rank >= job.total))
    return fail(Code::kFailedPrecondition, "SLURM_PROCID is {}, but there are {} tasks", *job.rank, job.total);
  return job;
}

}  // namespace tfd::resolve::detail
