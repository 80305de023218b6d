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
  TFD_TRY(check_cluster(config, !servers_.empty()));
  TFD_TRY(check_servers(servers_, TFD_TRY(addresses_of(config.cluster, "ps"))));
  const auto workers = TFD_TRY(addresses_of(config.cluster, "worker"));
  auto change = TFD_TRY(ask<MembershipChange>(
      [&](auto done) { endpoint_->post([this, workers, done] { done(change_workers(workers)); }); }));
  const MutexLock lock(mutex_);
  config_ = config;
  return change;
}

void Coordinator::connect_worker(std::size_t index) {
  const std::string& name = workers_[index].name();
  workers_.connect(index, std::make_unique<task::WorkerClient>(
                              *endpoint_, endpoint_->add_peer(name, workers_[index].address()), name));
}

MembershipChange Coordinator::change_workers(const std::map<std::string, std::string>& addresses) {
  MembershipDifference difference;
  {
    const MutexLock lock(mutex_);
    difference = compare_members(workers_, addresses);
    for (const std::size_t index : difference.left) workers_.leave(index);
  }
  MembershipChange change;
  for (const std::size_t index : difference.moved) {
    const std::string& name = change.moved.emplace_back(name_of(index));
    worker_lost(index, std::nullopt, "it moved to " + addresses.at(name), false);
    const MutexLock lock(mutex_);
    workers_.move_to(index, addresses.at(name), Clock::now());
    connect_worker(index);
  }
  for (const std::size_t index : difference.left) {
    change.left.push_back(name_of(index));
    worker_lost(index, std::nullopt, "it left the cluster", false);
    endpoint_->remove_peer(client_of(index).peer());
  }
  for (const std::string& name : difference.joined) {
    const MutexLock lock(mutex_);
    const std::size_t index = workers_.join(name, Window(options_.window));
    workers_.move_to(index, addresses.at(name), Clock::now());
    connect_worker(index);
  }
  change.joined = std::move(difference.joined);
  return change;
}

}  // namespace tfd::coordinator
