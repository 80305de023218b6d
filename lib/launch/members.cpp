// SPDX-License-Identifier: Apache-2.0
#include "tfd/launch/members.hpp"

#include <array>
#include <climits>
#include <string_view>

#include "tfd/base/text.hpp"
#include "tfd/base/units.hpp"
#include "tfd/cluster/formats.hpp"

namespace tfd::launch {
namespace {

/// All that a launcher says: an outer one's (srun, torchrun, tfd-launch) would contradict ours.
constexpr std::array<std::string_view, 25> kSaid{"RANK",
                                                 "WORLD_SIZE",
                                                 "LOCAL_RANK",
                                                 "LOCAL_WORLD_SIZE",
                                                 "GROUP_RANK",
                                                 "GROUP_WORLD_SIZE",
                                                 "MASTER_ADDR",
                                                 "MASTER_PORT",
                                                 "JAX_COORDINATOR_ADDRESS",
                                                 "JAX_NUM_PROCESSES",
                                                 "JAX_PROCESS_ID",
                                                 "JAX_LOCAL_DEVICE_IDS",
                                                 "TF_CONFIG",
                                                 "TFD_TASK",
                                                 "TFD_GENERATION",
                                                 "TFD_RESTARTS",
                                                 "TFD_RENDEZVOUS",
                                                 "TFD_WORKERS",
                                                 "TFD_SILENCE",
                                                 "TFD_MEMBER_FILE",
                                                 "TFD_TEXT_STREAM",
                                                 "TFD_FAULT",
                                                 "TFD_ERROR_FILE",
                                                 "TORCHELASTIC_ERROR_FILE",
                                                 "TORCHELASTIC_RESTART_COUNT"};

bool has_rank(const cluster::TaskId& id) { return id.job != "ps" && id.job != "evaluator"; }

Result<void> check_job(const std::string& job) {
  if (job.find('/') == std::string::npos && !job.starts_with('.')) return {};
  return fail(Code::kInvalidArgument, "cluster.{}: the name of a job must be one of a file, too", printable(job));
}

Result<Environment> told(cluster::ClusterConfig config, const cluster::TaskId& id, const Environment& base) {
  config.task = id;
  Environment env = base;
  for (const std::string_view name : kSaid) env.unset(name);
  const auto add = [&env](const Environment& more) {
    for (const auto& [name, value] : more.values()) env.set(name, value);
  };
  add(cluster::child_environment(config));
  env.set("TFD_TASK", cluster::format_task(id));
  if (!has_rank(id)) return env;
  add(TFD_TRY(cluster::child_environment(config, cluster::Format::kPytorch)));
  add(TFD_TRY(cluster::child_environment(config, cluster::Format::kJax)));
  return env;
}

}  // namespace

int launched_ranks(const Environment& env) {
  if (!env.has("TFD_TASK")) return 0;
  return static_cast<int>(parse_integer(env.get("WORLD_SIZE"), 1, INT_MAX).value_or(1));
}

Result<Members> plan_members(cluster::ClusterConfig config, const LocalLookup& lookup, const Environment& base) {
  const std::vector<Placed> placed = TFD_TRY(place_members(config, lookup));
  Members members;
  for (const Placed& task : placed) {
    TFD_TRY(check_job(task.id.job));
    if (task.bind.host.empty()) continue;  // an evaluator without an address
    Listener listener = TFD_TRY(reserve_port(task.bind));
    set_port(config, task.id, listener.address.port);
    members.reserved.push_back(std::move(listener));
  }
  for (const cluster::Task& task : config.cluster.tasks()) members.ranks += has_rank(task.id) ? 1 : 0;
  std::vector<cluster::TaskId> here;
  for (const Placed& task : placed) here.push_back(task.id);
  members.here = TFD_TRY(describe_members(config, here, base));
  return members;
}

Result<std::vector<Member>> describe_members(const cluster::ClusterConfig& config,
                                             const std::vector<cluster::TaskId>& here, const Environment& base) {
  std::vector<Member> members;
  for (const cluster::TaskId& id : here) {
    Environment environment = TFD_TRY(told(config, id, base));
    members.push_back({id, has_rank(id), std::move(environment)});
  }
  return members;
}

}  // namespace tfd::launch
