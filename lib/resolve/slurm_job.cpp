// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <limits>

#include "slurm_env.hpp"
#include "tfd/base/text.hpp"
#include "tfd/base/units.hpp"
#include "tfd/resolve/hostlist.hpp"

namespace tfd::resolve::detail {
namespace {

/// Step ids from here on are Slurm's own: pending, external, batch and interactive steps (slurm.h).
constexpr std::int64_t kFirstSpecialStep = 0xfffffff0;

struct Variable {
  std::string name;
  std::string value;
};

/// The first that is set.
template <std::size_t Count>
std::optional<Variable> find_first(const Environment& env, const std::array<std::string_view, Count>& names) {
  for (const std::string_view name : names)
    if (auto value = env.find(name)) return Variable{std::string(name), std::move(*value)};
  return std::nullopt;
}

bool in_special_step(const Environment& env) {
  const auto step = parse_integer(env.get("SLURM_STEP_ID", "0"), 0, std::numeric_limits<std::int64_t>::max());
  return step && *step >= kFirstSpecialStep;
}

/// A task is what srun started: a batch script has SLURM_PROCID=0 too, but belongs to no step.
Result<void> read_rank(const Environment& env, SlurmJob& job) {
  const auto rank = env.find("SLURM_PROCID");
  if (!rank) {
    job.no_task_reason = "SLURM_PROCID is not set, srun starts the tasks";
  } else if (in_special_step(env)) {
    job.no_task_reason = "SLURM_PROCID is the interactive step's, srun starts the tasks";
  } else if (!env.has("SLURM_STEP_ID") && !env.has("SLURM_STEP_NODELIST")) {
    job.no_task_reason = "SLURM_PROCID is the batch step's, srun starts the tasks";
  } else {
    job.rank = TFD_TRY(slurm_integer("SLURM_PROCID", *rank));
  }
  return {};
}

Result<std::vector<SlurmNode>> read_nodes(const Environment& env, const SlurmOptions& options) {
  std::vector<SlurmNode> nodes;
  if (options.tasks_per_node) {
    if (const auto* given = std::get_if<1>(&*options.tasks_per_node)) {
      for (const auto& [host, count] : *given) nodes.push_back({host, count});
      return nodes;
    }
  }
  const bool step = env.has("SLURM_STEP_NODELIST") && !in_special_step(env);
  const auto list =
      step ? find_first<1>(env, {"SLURM_STEP_NODELIST"}) : find_first<2>(env, {"SLURM_JOB_NODELIST", "SLURM_NODELIST"});
  if (!list)
    return fail(Code::kFailedPrecondition,
                "neither SLURM_STEP_NODELIST nor SLURM_JOB_NODELIST is set: not in a Slurm job?");
  std::vector<std::string> hosts = TFD_TRY(expand_hostlist(list->value, Compat::kNone), list->name);
  nodes.reserve(hosts.size());
  if (options.tasks_per_node) {
    for (std::string& host : hosts) nodes.push_back({std::move(host), std::get<0>(*options.tasks_per_node)});
    return nodes;
  }
  const auto counts = step ? find_first<2>(env, {"SLURM_STEP_TASKS_PER_NODE", "SLURM_TASKS_PER_NODE"})
                           : find_first<1>(env, {"SLURM_TASKS_PER_NODE"});
  if (!counts)
    return fail(Code::kFailedPrecondition, "{} is not set: give --tasks-per-node",
                step ? "SLURM_STEP_TASKS_PER_NODE" : "SLURM_TASKS_PER_NODE");
  const std::vector<int> tasks = TFD_TRY(expand_tasks_per_node(counts->value), counts->name);
  if (tasks.size() != hosts.size())
    return fail(Code::kFailedPrecondition, "{} names {} hosts, but {} counts tasks on {}", list->name, hosts.size(),
                counts->name, tasks.size());
  for (std::size_t i = 0; i < hosts.size(); ++i) nodes.push_back({std::move(hosts[i]), tasks[i]});
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
  job.nodes = TFD_TRY(read_nodes(env, options));
  for (const SlurmNode& node : job.nodes) job.total += node.tasks;
  if (job.total > kMostTasks) return fail(Code::kInvalidArgument, "{} tasks, {} are the limit", job.total, kMostTasks);
  if (job.total == 0) return fail(Code::kInvalidArgument, "no task on any of {} hosts", job.nodes.size());
  TFD_TRY(read_rank(env, job));
  if (job.rank && (*job.rank < 0 || *job.rank >= job.total))
    return fail(Code::kFailedPrecondition, "SLURM_PROCID is {}, but there are {} tasks", *job.rank, job.total);
  return job;
}

}  // namespace tfd::resolve::detail
