// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <bit>
#include <map>
#include <unordered_map>

#include "slurm_env.hpp"
#include "tfd/base/text.hpp"
#include "tfd/base/units.hpp"
#include "tfd/resolve/hostlist.hpp"

namespace tfd::resolve::detail {
namespace {

/// Appends a component's ranks in rounds of at most `plane` tasks a node; block is one round.
void deal_component(const std::vector<SlurmNode>& nodes, std::size_t begin, std::size_t end, int plane,
                    std::vector<int>& node_of) {
  struct Open {
    int node;
    int left;
  };
  std::vector<Open> open;
  open.reserve(end - begin);
  for (std::size_t i = begin; i < end; ++i)
    if (nodes[i].tasks > 0) open.push_back({static_cast<int>(i), nodes[i].tasks});
  while (!open.empty()) {  // full nodes leave, so that all rounds together cost O(tasks)
    for (Open& here : open) {
      const int count = std::min(plane, here.left);
      for (int i = 0; i < count; ++i) node_of.push_back(here.node);
      here.left -= count;
    }
    std::erase_if(open, [](const Open& here) { return here.left == 0; });
  }
}

/// Rank -> node. Every component is dealt for itself, one after the other.
std::vector<int> deal(const std::vector<SlurmNode>& nodes, std::int64_t total, int plane) {
  std::vector<int> node_of;
  node_of.reserve(static_cast<std::size_t>(total));
  for (std::size_t begin = 0, end = 0; begin < nodes.size(); begin = end) {
    while (end < nodes.size() && nodes[end].component == nodes[begin].component) ++end;
    deal_component(nodes, begin, end, plane, node_of);
  }
  return node_of;
}

/// "n3" a line, or a hostlist, or "n3*2"; # begins a comment.
Result<std::vector<std::string>> read_hostfile(std::string_view text, std::int64_t total) {
  std::vector<std::string> hosts;
  for (std::string line : split(text, '\n')) {
    line.erase(std::min(line.find('#'), line.size()));
    std::erase_if(line, [](char c) { return c == ' ' || c == '\t' || c == '\r'; });
    std::int64_t times = 1;
    if (const std::size_t star = line.find('*'); star != std::string::npos) {
      times = TFD_TRY(parse_integer(std::string_view(line).substr(star + 1), 1, kMostTasks), "SLURM_HOSTFILE");
      line.erase(star);
    }
    for (const std::string& host : TFD_TRY(expand_hostlist(line, Compat::kNone), "SLURM_HOSTFILE"))
      for (std::int64_t i = 0; i < times && std::ssize(hosts) < total; ++i) hosts.push_back(host);
  }
  return hosts;
}

Result<std::vector<std::string>> arbitrary_hosts(const Environment& env, const SlurmOptions& options,
                                                 std::int64_t total) {
  if (const auto list = env.find("SLURM_ARBITRARY_NODELIST"))
    return TFD_TRY(expand_hostlist(*list, Compat::kNone), "SLURM_ARBITRARY_NODELIST");
  const auto path = env.find("SLURM_HOSTFILE");
  if (!path || !options.load_hostfile)
    return fail(
        Code::kFailedPrecondition,
        "SLURM_DISTRIBUTION is arbitrary, but neither SLURM_ARBITRARY_NODELIST nor SLURM_HOSTFILE says where the "
        "ranks are");
  return read_hostfile(TFD_TRY(options.load_hostfile(*path), "SLURM_HOSTFILE"), total);
}

Result<std::vector<int>> arbitrary(const Environment& env, const SlurmOptions& options, const SlurmJob& job) {
  const std::vector<std::string> hosts = TFD_TRY(arbitrary_hosts(env, options, job.total));
  if (std::ssize(hosts) < job.total)
    return fail(Code::kFailedPrecondition, "SLURM_DISTRIBUTION is arbitrary, but of {} ranks only {} are listed",
                job.total, hosts.size());
  std::unordered_map<std::string_view, int> node_by_name;
  for (std::size_t i = 0; i < job.nodes.size(); ++i) node_by_name.try_emplace(job.nodes[i].host, static_cast<int>(i));
  std::vector<int> node_of;
  node_of.reserve(static_cast<std::size_t>(job.total));
  for (std::int64_t rank = 0; rank < job.total; ++rank) {
    const std::string& host = hosts[static_cast<std::size_t>(rank)];
    const auto found = node_by_name.find(host);
    if (found == node_by_name.end())
      return fail(Code::kFailedPrecondition, "rank {} is listed on {}, which is not in the nodelist", rank,
                  printable(host));
    node_of.push_back(found->second);
  }
  return node_of;
}

/// Whether a cyclic SLURM_DISTRIBUTION may only be Slurm's default. A task of `srun A : B` sees the distribution of one
/// of the components, whichever srun came to last. Cyclic is Slurm's default for a component with no more tasks than
/// nodes, where it is the same as block: then it says nothing about the others, whose default is block.
bool is_default_cyclic(const SlurmJob& job) {
  std::map<int, std::pair<int, int>> counts;  // component -> tasks, nodes
  for (const SlurmNode& node : job.nodes) {
    if (node.tasks == 0) continue;
    counts[node.component].first += node.tasks;
    ++counts[node.component].second;
  }
  return counts.size() > 1 && std::any_of(counts.begin(), counts.end(),
                                          [](const auto& entry) { return entry.second.first <= entry.second.second; });
}

Result<std::vector<int>> nodes_of_ranks(const Environment& env, const SlurmOptions& options, const SlurmJob& job) {
  constexpr int kWhole = 1 << 30;
  // "cyclic:block,NoPack": nodes, then sockets and cores, which don't matter here.
  const std::string whole = env.get("SLURM_DISTRIBUTION", "block");
  const std::string kind = whole.substr(0, whole.find_first_of(":,"));
  if (kind == "cyclic" && !(job.components > 1 && is_default_cyclic(job))) return deal(job.nodes, job.total, 1);
  if (kind == "arbitrary") return arbitrary(env, options, job);
  if (kind == "plane" || kind.starts_with("plane=")) {
    const std::string size = kind == "plane" ? env.get("SLURM_DIST_PLANESIZE") : kind.substr(6);
    const auto plane = parse_integer(size, 1, kWhole);
    if (!plane)
      return fail(Code::kInvalidArgument, "SLURM_DIST_PLANESIZE: '{}' is not a number of tasks from 1",
                  printable(size));
    return deal(job.nodes, job.total, static_cast<int>(*plane));
  }
  if (kind != "block" && kind != "cyclic" && kind != "*" && !kind.empty())
    return fail(Code::kInvalidArgument, "SLURM_DISTRIBUTION: '{}' is not block, cyclic, plane or arbitrary",
                printable(whole));
  return deal(job.nodes, job.total, kWhole);
}

/// Slurm lists hosts in order, so comparing adjacent names usually shows that none appears twice.
bool is_sorted_by_name(const std::vector<SlurmNode>& nodes) {
  return std::adjacent_find(nodes.begin(), nodes.end(), [](const SlurmNode& a, const SlurmNode& b) {
           return a.host.size() > b.host.size() || (a.host.size() == b.host.size() && a.host >= b.host);
         }) == nodes.end();
}

/// The first node of each node's host name: a host that is listed twice is one host, its counts add up. Empty where all
/// are different. A flat table, since an unordered_map's nodes alone would cost a tenth of the time that the
/// tool has.
std::vector<int> first_entries(const std::vector<SlurmNode>& nodes) {
  if (is_sorted_by_name(nodes)) return {};
  const std::size_t size = std::bit_ceil(nodes.size() * 2 + 1);
  std::vector<int> table(size, -1);
  std::vector<int> first(nodes.size());
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    std::size_t at = std::hash<std::string_view>{}(nodes[i].host) & (size - 1);
    while (table[at] >= 0 && nodes[static_cast<std::size_t>(table[at])].host != nodes[i].host)
      at = (at + 1) & (size - 1);
    if (table[at] < 0) table[at] = static_cast<int>(i);
    first[i] = table[at];
  }
  return first;
}

/// SLURM_GTIDS lists the ranks of this task's host.
Result<void> check_ranks_of_host(const SlurmJob& job, const std::vector<SlurmPlace>& places, const std::string& host,
                                 const std::string& text, const std::string& distribution) {
  std::string derived;
  for (std::size_t rank = 0; rank < places.size(); ++rank) {
    if (job.nodes[static_cast<std::size_t>(places[rank].node)].host != host) continue;
    if (!derived.empty()) derived += ',';
    derived += std::string_view(fmt::format_int(rank).c_str());
  }
  if (derived == text) return {};
  return fail(Code::kFailedPrecondition, "ranks {} should be on {} by the distribution '{}', but SLURM_GTIDS is {}{}",
              derived, printable(host), distribution, printable(text),
              job.components > 1 ? ": give all components the same srun -m" : "");
}

/// Slurm's variables of this task must agree with the derived place, else the whole spec is wrong.
Result<void> check_own_place(const Environment& env, const SlurmJob& job, const std::vector<SlurmPlace>& places) {
  if (!job.rank) return {};
  const SlurmPlace own = places[static_cast<std::size_t>(*job.rank)];
  const std::string& host = job.nodes[static_cast<std::size_t>(own.node)].host;
  const std::string distribution = printable(env.get("SLURM_DISTRIBUTION", "block"));
  if (const auto node = env.find("SLURMD_NODENAME"); node && *node != host)
    return fail(Code::kFailedPrecondition,
                "rank {} should be on {} by the distribution '{}', but SLURMD_NODENAME is {}", *job.rank,
                printable(host), distribution, printable(*node));
  if (const auto local = env.find("SLURM_LOCALID")) {
    const int number = TFD_TRY(slurm_integer("SLURM_LOCALID", *local));
    if (number != own.local)
      return fail(Code::kFailedPrecondition,
                  "rank {} should be task {} of {} by the distribution '{}', but SLURM_LOCALID is {}", *job.rank,
                  own.local, printable(host), distribution, number);
  }
  if (const std::string ranks = env.get("SLURM_GTIDS"); !ranks.empty())
    return check_ranks_of_host(job, places, host, ranks, distribution);
  return {};
}

}  // namespace

Result<std::vector<SlurmPlace>> place_ranks(const Environment& env, const SlurmOptions& options, const SlurmJob& job) {
  const std::vector<int> node_of = TFD_TRY(nodes_of_ranks(env, options, job));
  const std::vector<int> first_entry = first_entries(job.nodes);
  std::vector<int> used(job.nodes.size(), 0);
  std::vector<SlurmPlace> places;
  places.reserve(node_of.size());
  for (const int node : node_of) {
    const int host = first_entry.empty() ? node : first_entry[static_cast<std::size_t>(node)];
    places.push_back({node, used[static_cast<std::size_t>(host)]++});
  }
  TFD_TRY(check_own_place(env, job, places));
  return places;
}

}  // namespace tfd::resolve::detail
