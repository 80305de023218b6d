// SPDX-License-Identifier: Apache-2.0
#include "tfd/resolve/mpi.hpp"

#include <arpa/inet.h>

#include <algorithm>
#include <unordered_map>

#include "mpi_env.hpp"
#include "tfd/base/text.hpp"
#include "tfd/resolve/hostlist.hpp"

namespace tfd::resolve {
namespace {

using detail::MpiHosts;
using detail::MpiRank;

constexpr std::string_view kHostsHint =
    "give --hostfile FILE with a line 'HOST slots=N' for each host, in mpirun's order";

/// Where a rank is: its host, and its local rank there.
struct Place {
  const std::string* host = nullptr;
  int local = 0;
};

bool is_ip(const std::string& host) {
  in6_addr bytes{};
  return inet_pton(AF_INET, host.c_str(), &bytes) == 1 || inet_pton(AF_INET6, host.c_str(), &bytes) == 1;
}

std::string_view short_name(std::string_view host) { return host.substr(0, host.find('.')); }

/// Whether a listed host may be this one. A bare address can't be compared with names.
bool may_be_here(const ResolverEnvironment& around, const std::string& host) {
  if (is_ip(host) || host == "localhost") return true;
  for (const std::string& own : {around.hostname, around.env.get("SLURMD_NODENAME"), around.env.get("PMIX_HOSTNAME")})
    if (!own.empty() && short_name(own) == short_name(host)) return true;
  return false;
}

Result<std::vector<Place>> fill_slots(const MpiHosts& hosts, int size) {
  std::unordered_map<std::string_view, int> used;  // a host may be listed twice
  std::vector<Place> places;
  places.reserve(static_cast<std::size_t>(size));
  std::int64_t slots = 0;
  for (const detail::MpiHost& host : hosts.hosts) {
    slots += host.slots;
    for (std::int64_t i = 0; i < host.slots && std::ssize(places) < size; ++i)
      places.push_back({&host.name, used[host.name]++});
  }
  if (std::ssize(places) == size) return places;
  return fail(Code::kFailedPrecondition, "{} has {} slots, but there are {} ranks: {}", hosts.source, slots, size,
              kHostsHint);
}

/// The launcher's variables of this rank must agree with the slots, else the whole spec is wrong.
Result<void> check_own_place(const ResolverEnvironment& around, const MpiHosts& hosts, const MpiRank& rank,
                             const std::vector<Place>& places) {
  const Place& own = places[static_cast<std::size_t>(rank.rank)];
  if (!may_be_here(around, *own.host))
    return fail(Code::kFailedPrecondition,
                "rank {} should be on {} by the slots of {}, but runs on {}: use mpirun's --map-by slot, or {}",
                rank.rank, printable(*own.host), hosts.source, printable(around.hostname), kHostsHint);
  if (rank.local_rank && *rank.local_rank != own.local)
    return fail(Code::kFailedPrecondition,
                "rank {} should be number {} on {} by the slots of {}, but its local rank is {}: use mpirun's --map-by "
                "slot, or {}",
                rank.rank, own.local, printable(*own.host), hosts.source, *rank.local_rank, kHostsHint);
  const auto here = std::count_if(places.begin(), places.end(), [&](const Place& p) { return *p.host == *own.host; });
  if (rank.local_size && *rank.local_size != here)
    return fail(Code::kFailedPrecondition, "{} ranks should be on {} by the slots of {}, but {} are: {}", here,
                printable(*own.host), hosts.source, *rank.local_size, kHostsHint);
  return {};
}

Result<int> count_ranks(const MpiRank& rank, const std::optional<MpiHosts>& hosts, const JobCounts& jobs) {
  if (rank.size) return *rank.size;
  std::int64_t count = 0;
  for (const auto& [name, tasks] : jobs) count += tasks;
  if (count == 0 && hosts)
    for (const auto& host : hosts->hosts) count += host.slots;
  if (count == 0 || count > kMostTasks)
    return fail(Code::kFailedPrecondition, "{} gives the rank, but nothing gives the number of ranks: give --jobs",
                rank.variable);
  return static_cast<int>(count);
}

/// Ranks in order are handed to the jobs by name, as Slurm's are.
Result<void> assign_jobs(cluster::ClusterConfig& config, JobCounts jobs, const MpiRank& rank,
                         const std::vector<Place>& places, int first_port) {
  if (jobs.empty()) jobs = {{"worker", static_cast<int>(places.size())}};
  std::sort(jobs.begin(), jobs.end());
  std::int64_t asked = 0;
  for (const auto& [name, count] : jobs) asked += count;
  if (asked != std::ssize(places))
    return fail(Code::kFailedPrecondition, "the jobs have {} tasks together, but mpirun started {} ranks", asked,
                places.size());
  int number = 0;
  for (const auto& [name, count] : jobs) {
    config.cluster.add_job(name);
    for (int i = 0; i < count; ++i, ++number) {
      const Place& place = places[static_cast<std::size_t>(number)];
      const int port = first_port == 0 ? 0 : first_port + place.local;
      if (port > 65535)
        return fail(Code::kInvalidArgument, "port {} of {}:{} out of range: give a smaller --port-base", port, name, i);
      if (number == rank.rank) config.task = cluster::TaskId{name, i};
      config.cluster.add_task(name, i, cluster::format_address({*place.host, static_cast<std::uint16_t>(port)}));
    }
  }
  return {};
}

}  // namespace

Result<cluster::ClusterConfig> resolve_mpi(const ResolverEnvironment& around, const MpiOptions& options) {
  const MpiRank rank = TFD_TRY(detail::read_mpi_rank(around.env));
  std::optional<MpiHosts> hosts;
  // Whoever sees all ranks around itself needs no list.
  const bool all_here = rank.size && rank.local_size == rank.size;
  if (!all_here || options.hostfile) hosts = TFD_TRY(detail::find_mpi_hosts(around, options));
  const int size = TFD_TRY(count_ranks(rank, hosts, options.jobs));
  if (rank.rank >= size)
    return fail(Code::kFailedPrecondition, "{} is {}, but there are {} ranks", rank.variable, rank.rank, size);
  if (!hosts && !all_here && size > 1)
    return fail(Code::kFailedPrecondition, "nothing here says which hosts the {} ranks are on: {}", size, kHostsHint);
  if (!hosts) hosts = MpiHosts{"this host", {{"127.0.0.1", size}}};

  const auto places = TFD_TRY(fill_slots(*hosts, size));
  TFD_TRY(check_own_place(around, *hosts, rank, places));
  cluster::ClusterConfig config;
  TFD_TRY(assign_jobs(config, options.jobs, rank, places, detail::mpi_first_port(around.env, options)));
  config.rpc_layer = options.rpc_layer;
  config.environment = "";
  config.resolver = "mpi";
  config.master = cluster::format_url(options.rpc_layer,
                                      TFD_TRY(config.cluster.task_address(config.task->job, config.task->index)));
  return config;
}

}  // namespace tfd::resolve
