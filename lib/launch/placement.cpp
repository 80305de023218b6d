// SPDX-License-Identifier: Apache-2.0
#include "tfd/launch/placement.hpp"

#include <algorithm>

#include "tfd/base/text.hpp"

namespace tfd::launch {
namespace {

bool is_server_job(const std::string& job) { return job == "worker" || job == "ps"; }

std::string path_of(const cluster::TaskId& id) { return fmt::format("cluster.{}[{}]", id.job, id.index); }

tl::unexpected<Error> no_such_task(const cluster::ClusterSpec& spec, const std::string& name) {
  std::vector<std::string> names;
  for (const cluster::Task& task : spec.tasks()) names.push_back(cluster::format_task(task.id));
  return fail(Code::kInvalidArgument, "no task {} in the cluster{}", printable(name), did_you_mean(name, names));
}

Result<cluster::Task> find_task(const cluster::ClusterSpec& spec, const cluster::TaskId& id) {
  const std::string name = cluster::format_task(id);
  if (!is_server_job(id.job))
    return fail(Code::kInvalidArgument, "{} is not served: only tasks of the jobs worker and ps are", name);
  if (spec.has_task(id)) {
    std::string address = TFD_TRY(spec.task_address(id.job, id.index));
    return cluster::Task{id, std::move(address)};
  }
  return no_such_task(spec, name);
}

std::vector<std::string> hosts_of(const cluster::ClusterSpec& spec, bool servers_only) {
  std::vector<std::string> hosts;
  for (const cluster::Task& task : spec.tasks()) {
    const auto address = cluster::parse_address(task.address);
    if ((servers_only && !is_server_job(task.id.job)) || !address) continue;
    if (std::find(hosts.begin(), hosts.end(), address->host) == hosts.end()) hosts.push_back(address->host);
  }
  if (hosts.size() > 3) {
    const std::string rest = fmt::format("{} more", hosts.size() - 2);
    hosts.resize(2);
    hosts.push_back(rest);
  }
  return hosts;
}

}  // namespace

Result<Placement> place_tasks(const cluster::ClusterConfig& config, const LocalLookup& lookup,
                              const std::string& bind_host) {
  TFD_TRY(config.cluster.validate());
  std::optional<cluster::TaskId> only;
  if (config.task) only = TFD_TRY(find_task(config.cluster, *config.task)).id;

  Placement placement;
  std::map<std::string, std::optional<std::string>> known;  // a name is looked up once
  for (const cluster::Task& task : config.cluster.tasks()) {
    const cluster::Address address = TFD_TRY(cluster::parse_address(task.address), path_of(task.id));
    const bool asked = only && task.id == *only;
    const bool is_server = is_server_job(task.id.job);
    const bool candidate = asked || (is_server && !only) || (!is_server && address.port == 0);
    if (candidate && known.find(address.host) == known.end()) known[address.host] = lookup(address.host);
    const std::optional<std::string> local = candidate ? known[address.host] : std::nullopt;
    if (is_server && (asked || (!only && local))) {
      const std::string everywhere = cluster::is_ipv6(address) ? "::" : "0.0.0.0";
      placement.served.push_back({task.id, {bind_host.empty() ? local.value_or(everywhere) : bind_host, address.port}});
    } else if (!is_server && local && address.port == 0) {
      placement.reserved.push_back({task.id, {*local, 0}});
    } else if (is_server && address.port == 0) {
      return fail(Code::kInvalidArgument, "{}: port 0 means any free one, but {} is not started here", path_of(task.id),
                  cluster::format_task(task.id));
    }
  }
  if (placement.served.empty()) {
    const auto hosts = hosts_of(config.cluster, true);
    if (hosts.empty()) return fail(Code::kInvalidArgument, "the cluster has no worker and no ps: nothing to serve");
    return fail(Code::kFailedPrecondition,
                "no worker or ps of the cluster is on this host, only on {}\nhint: --task JOB:INDEX serves one anyway",
                join_words(hosts));
  }
  return placement;
}

Result<std::vector<Placed>> place_members(const cluster::ClusterConfig& config, const LocalLookup& lookup) {
  TFD_TRY(config.cluster.validate());
  const std::optional<cluster::TaskId>& only = config.task;
  if (only && !config.cluster.has_task(*only)) {
    if (only->job == "evaluator") return std::vector<Placed>{{*only, {}}};
    return no_such_task(config.cluster, cluster::format_task(*only));
  }
  std::vector<Placed> placed;
  std::map<std::string, std::optional<std::string>> known;  // a name is looked up once
  for (const cluster::Task& task : config.cluster.tasks()) {
    if (only && task.id != *only) continue;
    const cluster::Address address = TFD_TRY(cluster::parse_address(task.address), path_of(task.id));
    if (known.find(address.host) == known.end()) known[address.host] = lookup(address.host);
    const std::optional<std::string>& local = known[address.host];
    if (only || local)
      placed.push_back({task.id, {local.value_or(cluster::is_ipv6(address) ? "::" : "0.0.0.0"), address.port}});
    else if (address.port == 0)
      return fail(Code::kInvalidArgument, "{}: port 0 means any free one, but {} is not started here", path_of(task.id),
                  cluster::format_task(task.id));
  }
  if (placed.empty())
    return fail(Code::kFailedPrecondition, "no task of the cluster is on this host, only on {}",
                join_words(hosts_of(config.cluster, false)));
  return placed;
}

void set_port(cluster::ClusterConfig& config, const cluster::TaskId& id, std::uint16_t port) {
  const auto text = config.cluster.task_address(id.job, id.index);
  auto address = text ? cluster::parse_address(*text) : fail(text.error());
  if (!address) return;
  address->port = port;
  config.cluster.add_task(id.job, id.index, cluster::format_address(*address));
}

}  // namespace tfd::launch
