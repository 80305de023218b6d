// SPDX-License-Identifier: Apache-2.0
//
// Membership: requirements on a cluster, and changes of its spec at run time.
#include <algorithm>

#include "ask.hpp"
#include "coordinator.hpp"
#include "tfd/cluster/roles.hpp"

namespace tfd::coordinator {
namespace {

std::size_t count_tasks(const cluster::ClusterSpec& spec, std::string_view job) {
  const auto* tasks = spec.find_job(job);
  return tasks == nullptr ? 0 : tasks->size();
}

/// Maps names to addresses of a job's tasks. kInvalidArgument for an address that can't be connected to.
Result<std::map<std::string, std::string>> addresses_of(const cluster::ClusterSpec& spec, std::string_view job) {
  std::map<std::string, std::string> out;
  for (const cluster::Task& task : spec.tasks()) {
    if (task.id.job != job) continue;
    const std::string name = cluster::format_task(task.id);
    const auto address = TFD_TRY(cluster::parse_address(task.address), "cluster." + name);
    if (address.port == 0) return fail(Code::kInvalidArgument, "cluster.{}: cannot connect to port 0", name);
    out.emplace(name, task.address);
  }
  return out;
}

/// Checks that a newer spec has the same parameter servers.
Result<void> check_servers(const std::vector<Server>& servers, const std::map<std::string, std::string>& addresses) {
  constexpr std::string_view kWhy =
      "variables stay where they were created; start a new coordinator, which restores them";
  for (const auto& [name, address] : addresses) {
    const auto server = std::ranges::find(servers, name, &Server::name);
    if (server == servers.end())
      return fail(Code::kFailedPrecondition, "{} can't join a run that has begun: {}", name, kWhy);
    if (server->address != address)
      return fail(Code::kFailedPrecondition, "{} can't move from {} to {}: {}", name, server->address, address, kWhy);
  }
  for (const Server& server : servers)
    if (!addresses.contains(server.name))
      return fail(Code::kFailedPrecondition, "{} can't leave a run that has begun: {}", server.name, kWhy);
  return {};
}

}  // namespace

Result<void> check_cluster(const cluster::ClusterConfig& config, bool needs_ps) {
  if (config.cluster.empty()) return fail(Code::kInvalidArgument, "the cluster spec is empty");
  TFD_TRY(cluster::validate_roles(config.cluster, config.task));
  if (needs_ps && count_tasks(config.cluster, "ps") == 0)
    return fail(Code::kInvalidArgument, "the cluster spec has no ps; at least one is needed");
  if (count_tasks(config.cluster, "worker") == 0) return fail(Code::kInvalidArgument, "the cluster spec has no worker");
  return {};
}

Result<MembershipChange> Coordinator::change_cluster(const cluster::ClusterConfig& config) {
  TFD_TRY(check_cluster(config, !state_.servers.empty()));
  TFD_TRY(check_servers(state_.servers, TFD_TRY(addresses_of(config.cluster, "ps"))));
  const auto workers = TFD_TRY(addresses_of(config.cluster, "worker"));
  auto change = TFD_TRY(ask<MembershipChange>(
      [&](auto done) { state_.endpoint->post([this, workers, done] { done(worker_links_.change(workers)); }); }));
  const MutexLock lock(state_.mutex);
  config_ = config;
  return change;
}

}  // namespace tfd::coordinator
