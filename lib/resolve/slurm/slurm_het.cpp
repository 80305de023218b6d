// SPDX-License-Identifier: Apache-2.0
//
// Heterogeneous jobs, as Slurm 22.05 shows them: sbatch and salloc set NAME_HET_GROUP_n and NAME_PACK_GROUP_n for every
// component, `srun A : B` only some PACK_GROUP ones; a batch script's plain variables are component 0's, a step's are
// those of all the components that it spans, the nodelist sorted by name; ranks count through the components in order.
#include <algorithm>
#include <iterator>
#include <unordered_map>

#include "slurm_env.hpp"
#include "tfd/base/text.hpp"
#include "tfd/base/units.hpp"
#include "tfd/resolve/hostlist.hpp"

namespace tfd::resolve::detail {
namespace {

constexpr int kMostComponents = 1024;  // Slurm's limit is 128

std::optional<SlurmVariable> find_nodelist(const Environment& env, int component) {
  auto list = find_of_component(env, "SLURM_JOB_NODELIST", component);
  return list ? list : find_of_component(env, "SLURM_NODELIST", component);
}

}  // namespace

std::optional<SlurmVariable> find_of_component(const Environment& env, std::string_view name, int component) {
  for (const std::string_view kind : {"HET", "PACK"}) {
    std::string full = fmt::format("{}_{}_GROUP_{}", name, kind, component);
    if (auto value = env.find(full)) return SlurmVariable{std::move(full), std::move(*value)};
  }
  return std::nullopt;
}

int count_components(const Environment& env) {
  const std::string size = env.get("SLURM_HET_SIZE", env.get("SLURM_PACK_SIZE"));
  if (size.empty()) return 0;
  const auto count = parse_integer(size, 1, kMostComponents);
  if (!count) return 0;
  const auto leader = find_of_component(env, "SLURM_JOB_ID", 0);
  if (leader && env.get("SLURM_JOB_ID", leader->value) != leader->value) return 0;
  return find_nodelist(env, 0) ? static_cast<int>(*count) : 0;
}

Result<std::vector<SlurmNode>> zip_nodes(const SlurmVariable& hosts, const SlurmVariable& counts, int component) {
  const std::vector<int> tasks = TFD_TRY(expand_tasks_per_node(counts.value), counts.name);
  std::vector<SlurmNode> nodes;
  nodes.reserve(tasks.size());
  std::size_t count = 0;
  TFD_TRY(each_host(hosts.value, Compat::kNone,
                    [&](const std::string& host) {
                      if (count < tasks.size()) nodes.push_back({host, tasks[count], component});
                      ++count;
                    }),
          hosts.name);
  if (count == tasks.size()) return nodes;
  return fail(Code::kFailedPrecondition, "{} names {} hosts, but {} counts tasks on {}", hosts.name, count, counts.name,
              tasks.size());
}

Result<std::vector<SlurmNode>> read_component_nodes(const Environment& env, int components, std::optional<int> tasks) {
  std::vector<SlurmNode> nodes;
  for (int component = 0; component < components; ++component) {
    const auto list = find_nodelist(env, component);
    if (!list)
      return fail(Code::kFailedPrecondition,
                  "a heterogeneous job of {} components, but SLURM_JOB_NODELIST_HET_GROUP_{} "
                  "is not set",
                  components, component);
    if (tasks) {
      TFD_TRY(each_host(list->value, Compat::kNone,
                        [&](const std::string& host) {
                          nodes.push_back({host, *tasks, component});
                        }),
              list->name);
      continue;
    }
    const auto counts = find_of_component(env, "SLURM_TASKS_PER_NODE", component);
    if (!counts)
      return fail(Code::kFailedPrecondition, "SLURM_TASKS_PER_NODE_HET_GROUP_{} is not set: give --tasks-per-node",
                  component);
    std::vector<SlurmNode> more = TFD_TRY(zip_nodes(*list, *counts, component));
    std::move(more.begin(), more.end(), std::back_inserter(nodes));
  }
  return nodes;
}

Result<void> sort_by_component(const Environment& env, int components, std::vector<SlurmNode>& nodes) {
  std::unordered_map<std::string, int> component_of;  // components never share a host
  for (int component = 0; component < components; ++component) {
    const auto list = find_nodelist(env, component);
    if (!list) return {};
    TFD_TRY(each_host(list->value, Compat::kNone,
                      [&](const std::string& host) { component_of.try_emplace(host, component); }),
            list->name);
  }
  for (SlurmNode& node : nodes) {
    const auto found = component_of.find(node.host);
    if (found == component_of.end())
      return fail(Code::kFailedPrecondition, "{} is in the nodelist, but in no component of the heterogeneous job",
                  printable(node.host));
    node.component = found->second;
  }
  std::stable_sort(nodes.begin(), nodes.end(),
                   [](const SlurmNode& a, const SlurmNode& b) { return a.component < b.component; });
  return {};
}

}  // namespace tfd::resolve::detail
