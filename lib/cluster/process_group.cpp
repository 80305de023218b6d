// SPDX-License-Identifier: Apache-2.0
#include "process_group.hpp"

#include <algorithm>
#include <optional>

#include "tfd/base/text.hpp"
#include "tfd/cluster/slices.hpp"

namespace tfd::cluster::detail {
namespace {

struct Member {
  TaskId task;
  Address address;
  int node = 0;   // number of its host, in the order of the ranks
  int local = 0;  // its rank within that host
};
struct Group {
  std::vector<Member> members;  // by rank; of several TPU slices those of this one alone, where others aren't known
  std::vector<int> sizes;       // ranks of each node
  std::size_t own = 0;
  Address first;           // of rank 0
  std::size_t slices = 1;  // of as many members and nodes each
  std::size_t slice_id = 0;

  const Member& self() const { return members[own]; }
  int local_size() const { return sizes[static_cast<std::size_t>(self().node)]; }
  std::size_t rank() const { return slice_id * members.size() + own; }
  std::size_t size() const { return slices * members.size(); }
  std::size_t node() const { return slice_id * sizes.size() + static_cast<std::size_t>(self().node); }
  std::size_t nodes() const { return slices * sizes.size(); }
};

/// Where the processes of several slices meet: at the host of the first one, as in jax.distributed.
constexpr std::uint16_t kSlicesPort = 8482;

/// Counts over all slices where the tasks of the others aren't known.
Result<void> add_slices(const ClusterConfig& config, Group& group) {
  const auto slices = find_missing_slices(config);
  if (!slices) return {};
  if (slices->coordinator.empty())
    return fail(Code::kInvalidArgument,
                "this is slice {} of {}, and nothing says where the first one is: MEGASCALE_COORDINATOR_ADDRESS is "
                "unset",
                slices->id, slices->count);
  group.first = {.host = slices->coordinator, .port = kSlicesPort};
  group.slices = static_cast<std::size_t>(slices->count);
  group.slice_id = static_cast<std::size_t>(slices->id);
  return {};
}

bool takes_part(std::string_view job) { return job != "ps" && job != "evaluator"; }

/// A chief first, as in TensorFlow's ranks; then the others in the spec's order.
std::vector<Task> tasks_by_rank(const ClusterSpec& spec) {
  std::vector<Task> tasks = spec.tasks();
  std::erase_if(tasks, [](const Task& task) { return !takes_part(task.id.job); });
  std::stable_partition(tasks.begin(), tasks.end(),
                        [](const Task& task) { return task.id.job == "chief" || task.id.job == "master"; });
  return tasks;
}

Result<Group> make_group(const ClusterConfig& config, std::string_view format) {
  TFD_TRY(require_task(config));
  if (!takes_part(config.task->job))
    return fail(Code::kInvalidArgument, "{} does not take part in a {} run: only TensorFlow has ps and evaluator tasks",
                printable(format_task(*config.task)), format);
  Group group;
  std::optional<std::size_t> own;
  std::map<std::string, int, std::less<>> nodes;
  for (const Task& task : tasks_by_rank(config.cluster)) {
    Address address = TFD_TRY(parse_address(task.address), printable(format_task(task.id)));
    Member member{task.id, std::move(address)};
    const auto [node, fresh] = nodes.try_emplace(member.address.host, static_cast<int>(nodes.size()));
    if (fresh) group.sizes.push_back(0);
    member.node = node->second;
    member.local = group.sizes[static_cast<std::size_t>(member.node)]++;
    if (config.task == task.id) own = group.members.size();
    group.members.push_back(std::move(member));
  }
  if (!own)
    return fail(Code::kInvalidArgument, "{} is not in the cluster, so it has no rank",
                printable(format_task(*config.task)));
  group.own = *own;
  const Member& first = group.members.front();
  group.first = first.address;
  TFD_TRY(add_slices(config, group));
  if (group.first.port == 0)
    return fail(Code::kInvalidArgument,
                "{} meets at {}, whose port is not known yet: use a resolver that knows the ports, or simple --job",
                format, printable(format_task(first.task)));
  return group;
}

void set_number(Environment& values, const char* name, std::size_t value) { values.set(name, std::to_string(value)); }
void set_number(Environment& values, const char* name, int value) { values.set(name, std::to_string(value)); }

}  // namespace

Result<void> require_task(const ClusterConfig& config) {
  if (config.task) return {};
  if (!config.no_task_reason.empty()) return fail(Code::kInvalidArgument, "no task here: {}", config.no_task_reason);
  return fail(Code::kInvalidArgument, "no task here: the spec names none; give --task JOB:INDEX");
}

Result<Environment> pytorch_environment(const ClusterConfig& config) {
  const Group group = TFD_TRY(make_group(config, "pytorch"));
  Environment values;
  values.set("MASTER_ADDR", group.first.host);
  set_number(values, "MASTER_PORT", group.first.port);
  set_number(values, "RANK", group.rank());
  set_number(values, "WORLD_SIZE", group.size());
  set_number(values, "LOCAL_RANK", group.self().local);
  set_number(values, "LOCAL_WORLD_SIZE", group.local_size());
  set_number(values, "GROUP_RANK", group.node());
  set_number(values, "GROUP_WORLD_SIZE", group.nodes());
  return values;
}

Result<Environment> torchrun_environment(const ClusterConfig& config) {
  const Group group = TFD_TRY(make_group(config, "torchrun"));
  const Member& self = group.self();
  if (self.local != 0) {
    const auto starter = std::find_if(group.members.begin(), group.members.end(),
                                      [&](const Member& member) { return member.node == self.node; });
    return fail(Code::kInvalidArgument, "torchrun is started once per host, here by {}; {} is its process {} there",
                printable(format_task(starter->task)), printable(format_task(self.task)), self.local);
  }
  // The only task of its host has all its GPUs: a process for each.
  const auto gpus = config.num_accelerators.find("GPU");
  const bool by_gpu = group.local_size() == 1 && gpus != config.num_accelerators.end() && gpus->second > 0;
  Environment values;
  set_number(values, "PET_NNODES", group.nodes());
  set_number(values, "PET_NODE_RANK", group.node());
  set_number(values, "PET_NPROC_PER_NODE", by_gpu ? gpus->second : group.local_size());
  values.set("PET_MASTER_ADDR", group.first.host);
  set_number(values, "PET_MASTER_PORT", group.first.port);
  return values;
}

Result<Environment> jax_environment(const ClusterConfig& config) {
  const Group group = TFD_TRY(make_group(config, "jax"));
  Environment values;
  values.set("JAX_COORDINATOR_ADDRESS", format_address(group.first));
  set_number(values, "JAX_NUM_PROCESSES", group.size());
  set_number(values, "JAX_PROCESS_ID", group.rank());
  if (!config.visible_devices || config.visible_devices->empty()) return values;
  // Positions among the devices of CUDA_VISIBLE_DEVICES: by default JAX would take the device of its local rank.
  values.set(config.visible_devices_variable, *config.visible_devices);
  std::string ids = "0";
  const auto count = std::count(config.visible_devices->begin(), config.visible_devices->end(), ',') + 1;
  for (std::ptrdiff_t i = 1; i < count; ++i) ids += fmt::format(",{}", i);
  values.set("JAX_LOCAL_DEVICE_IDS", ids);
  return values;
}

Result<std::string> render_hostfile(const ClusterConfig& config) {
  std::vector<std::pair<std::string, int>> hosts;
  std::map<std::string, std::size_t, std::less<>> lines;
  for (const Task& task : config.cluster.tasks()) {
    const Address address = TFD_TRY(parse_address(task.address), printable(format_task(task.id)));
    const auto [line, fresh] = lines.try_emplace(address.host, hosts.size());
    if (fresh) hosts.emplace_back(address.host, 0);
    ++hosts[line->second].second;
  }
  std::string out;
  for (const auto& [host, slots] : hosts) out += fmt::format("{} slots={}\n", host, slots);
  return out;
}

}  // namespace tfd::cluster::detail
