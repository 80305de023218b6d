// SPDX-License-Identifier: Apache-2.0
#include "tfd/resolve/stated_world.hpp"

#include <algorithm>
#include <array>
#include <functional>

#include "tfd/base/text.hpp"
#include "tfd/base/units.hpp"
#include "tfd/cluster/address.hpp"
#include "tfd/cluster/json_value.hpp"
#include "tfd/resolve/detect.hpp"
#include "tfd/resolve/mpi.hpp"

namespace tfd::resolve {
namespace {

constexpr std::int64_t kMostProcesses = std::int64_t{1} << 22;

/// How a variable says a number of processes.
enum class Reading : std::uint8_t {
  kCount,     // "3"
  kRange,     // "2", "2:4"
  kJsonList,  // ["algo-1", "algo-2"]
  kNames,     // "t-0,t-1"
};

/// A row of the table.
struct Row {
  std::string_view variable;
  Reading reading = Reading::kCount;
  std::string_view beside = {};  // must be set, too
  std::string_view members = "hosts";
  std::string_view kind = {};   // of --cluster; empty: launchers meet
  std::string_view host = {};   // variable with the address where they meet
  std::string_view port = {};   // variable with its port
  std::string_view hosts = {};  // variable with a list of hosts, whose first is the address
};

/// Rows in order of precedence: the closest to this process comes first.
constexpr std::array kRows{
    Row{.variable = "MEGASCALE_NUM_SLICES", .members = "slices"},
    Row{.variable = "TPU_PROCESS_ADDRESSES", .reading = Reading::kNames, .members = "processes", .kind = "tpu"},
    Row{.variable = "TPU_WORKER_HOSTNAMES", .reading = Reading::kNames, .kind = "tpu"},
    Row{.variable = "LWS_GROUP_SIZE", .members = "pods", .host = "LWS_LEADER_ADDRESS"},
    Row{.variable = "PET_NNODES", .reading = Reading::kRange, .host = "PET_MASTER_ADDR", .port = "PET_MASTER_PORT"},
    Row{.variable = "JAX_NUM_PROCESSES", .members = "processes", .host = "JAX_COORDINATOR_ADDRESS"},
    Row{.variable = "NUM_PROCESSES",
        .beside = "COORDINATOR_ADDRESS",
        .members = "processes",
        .host = "COORDINATOR_ADDRESS",
        .port = "COORDINATOR_PORT"},
    Row{.variable = "SKYPILOT_NUM_NODES", .hosts = "SKYPILOT_NODE_IPS"},
    Row{.variable = "DSTACK_NODES_NUM", .host = "DSTACK_MASTER_NODE_IP"},
    Row{.variable = "AWS_BATCH_JOB_NUM_NODES", .host = "AWS_BATCH_JOB_MAIN_NODE_PRIVATE_IPV4_ADDRESS"},
    Row{.variable = "SM_HOSTS", .reading = Reading::kJsonList, .hosts = "SM_HOSTS"},
    Row{.variable = "FLUX_JOB_SIZE", .members = "processes"},
    Row{.variable = "HOROVOD_SIZE", .members = "processes"},
    Row{.variable = "WORLD_SIZE", .members = "processes", .host = "MASTER_ADDR", .port = "MASTER_PORT"},
};

constexpr int kUsualPort = 29400;  // torchrun's

std::vector<std::string> parse_list(const std::string& text) {
  std::vector<std::string> out;
  if (text.find('[') != std::string::npos && text.find('"') != std::string::npos) {
    const auto list = cluster::parse_json(text, "list");
    if (!list || !list->is(cluster::JsonValue::Kind::kArray)) return {};
    for (const cluster::JsonValue& item : list->items) out.push_back(item.text);
    return out;
  }
  std::string one;
  for (const char c : text + ',') {
    if (c != ',' && c != '\n' && c != ' ') {
      one += c;
    } else if (!one.empty()) {
      out.push_back(std::exchange(one, ""));
    }
  }
  return out;
}

std::optional<std::int64_t> parse_count(std::string_view text) {
  const auto count = parse_integer(text, 1, kMostProcesses);
  return count ? std::optional(*count) : std::nullopt;
}

std::optional<std::int64_t> read(const Row& row, const std::string& value) {
  switch (row.reading) {
    case Reading::kCount:
      return parse_count(value);
    case Reading::kRange:
      return parse_count(value.substr(value.find(':') + 1));  // all of it where there is no colon
    case Reading::kJsonList:
    case Reading::kNames:
      return static_cast<std::int64_t>(parse_list(value).size());
  }
  return std::nullopt;
}

/// An address as an argument; one of IPv6 in brackets.
std::string bracketed(const std::string& host) {
  return std::ranges::count(host, ':') > 1 && !host.starts_with('[') ? "[" + host + "]" : host;
}

/// Where launchers meet. Variables are named rather than their values, so that the command is the same everywhere.
std::string rendezvous_of(const Row& row, const Environment& env) {
  if (!row.hosts.empty())
    if (const auto hosts = parse_list(env.get(row.hosts)); !hosts.empty())
      return fmt::format("{}:{}", bracketed(hosts.front()), kUsualPort);
  std::string_view host = row.host, port = row.port;
  if (row.variable == "PET_NNODES" && !env.has(host)) host = "MASTER_ADDR", port = "MASTER_PORT";
  if (host.empty() || env.get(host).empty()) return "HOST:PORT";
  if (env.get(host).find(':') != std::string::npos && port.empty()) return fmt::format("${}", host);
  if (port.empty() || env.get(port).empty()) return fmt::format("${}:{}", host, kUsualPort);
  return fmt::format("${}:${}", host, port);
}

/// torchrun starts several processes on each host: tfd-launch takes its place.
std::optional<std::string> in_place_of_torchrun(const Environment& env) {
  if (!env.has("TORCHELASTIC_RUN_ID")) return std::nullopt;
  const auto here = parse_count(env.get("LOCAL_WORLD_SIZE")), hosts = parse_count(env.get("GROUP_WORLD_SIZE"));
  if (hosts.value_or(1) == 1) return fmt::format("tfd-launch -n {}", here.value_or(1));
  return fmt::format("tfd-launch --rendezvous HOST:PORT --nnodes {} -n {}", *hosts, here.value_or(1));
}

/// Not at the coordinator's own port, which libtpu binds.
std::string launcher_of_slices(const Environment& env, std::int64_t slices) {
  const std::string coordinator = env.get("MEGASCALE_COORDINATOR_ADDRESS");
  const auto address = cluster::parse_address(coordinator);
  const std::string host = address ? address->host : coordinator;
  const auto hosts = std::max<std::size_t>(parse_list(env.get("TPU_WORKER_HOSTNAMES")).size(), 1);
  return fmt::format("tfd-launch --rendezvous {} --nnodes {}",
                     host.empty() ? "HOST:PORT" : fmt::format("{}:{}", bracketed(host), kUsualPort),
                     slices * static_cast<std::int64_t>(hosts));
}

std::string launcher_of(const Row& row, const Environment& env, std::int64_t count) {
  if (row.variable == "WORLD_SIZE")
    if (auto launcher = in_place_of_torchrun(env)) return *std::move(launcher);
  if (row.variable == "MEGASCALE_NUM_SLICES") return launcher_of_slices(env, count);
  const bool is_list = row.reading == Reading::kJsonList || row.reading == Reading::kNames;
  return fmt::format("tfd-launch --rendezvous {} --nnodes {}", rendezvous_of(row, env),
                     is_list ? std::to_string(count) : fmt::format("${}", row.variable));
}

std::optional<StatedWorld> find_by_row(const Row& row, const Environment& env) {
  const auto value = env.find(row.variable);
  if (!value || (!row.beside.empty() && env.get(row.beside).empty())) return std::nullopt;
  const auto count = read(row, *value);
  if (!count || *count < 2) return std::nullopt;
  return StatedWorld{.variable = std::string(row.variable),
                     .value = *value,
                     .members = std::string(row.members),
                     .count = *count,
                     .kind = std::string(row.kind),
                     .launcher = row.kind.empty() ? launcher_of(row, env, *count) : ""};
}

/// mpirun and srun, whose variables say rank and size together.
std::optional<StatedWorld> find_launched_world(const Environment& env) {
  const auto tasks = find_launched_tasks(env);
  if (!tasks) return std::nullopt;
  return StatedWorld{.variable = tasks->variable,
                     .value = tasks->value,
                     .members = "processes",
                     .count = tasks->count,
                     .kind = tasks->kind,
                     .has_rank = true};
}

/// Volcano: VC_MASTER_NUM, VC_WORKER_NUM, …, one for each kind of pod of the job, and VC_WORKER_HOSTS beside.
std::optional<StatedWorld> find_volcano_job(const Environment& env) {
  constexpr std::string_view kBegin = "VC_", kEnd = "_NUM";
  std::vector<std::string> names, values;
  std::int64_t count = 0;
  std::string host = "HOST";
  for (const auto& [name, value] : env.values()) {
    if (!name.starts_with(kBegin) || !name.ends_with(kEnd) || name.size() <= kBegin.size() + kEnd.size()) continue;
    const auto number = parse_count(value);
    if (!number) continue;
    names.push_back(name);
    values.push_back(value);
    count += *number;
    const auto hosts = parse_list(env.get(name.substr(0, name.size() - kEnd.size()) + "_HOSTS"));
    if (!hosts.empty() && (host == "HOST" || name == "VC_MASTER_NUM")) host = hosts.front();
  }
  if (count < 2) return std::nullopt;
  const std::string port = host == "HOST" ? "PORT" : std::to_string(kUsualPort);
  return StatedWorld{.variable = join_words(names),
                     .value = join_words(values),
                     .members = "pods",
                     .count = count,
                     .launcher = fmt::format("tfd-launch --rendezvous {}:{} --nnodes {}", host, port, count)};
}

}  // namespace

std::optional<StatedWorld> find_stated_world(const Environment& env) {
  if (env.has("TFD_SEQ") || env.has("TFD_TASK")) return std::nullopt;
  if (auto world = find_launched_world(env)) return world;
  if (auto world = find_volcano_job(env)) return world;
  for (const Row& row : kRows)
    if (auto world = find_by_row(row, env)) return world;
  return std::nullopt;
}

Error alone_in(const StatedWorld& world, std::string_view strategy) {
  const std::string blank = strategy.empty() ? "" : " ";
  const std::string together = world.kind.empty() ? fmt::format("{} -- tfd-run …{}{}", world.launcher, blank, strategy)
                                                  : fmt::format("{}{}--cluster {}", strategy, blank, world.kind);
  const bool is_several = world.variable.find(' ') != std::string::npos;
  return fail(Code::kUsage,
              "{} {} {}: {} {} were started together, but nothing names their cluster: {} makes one training of them; "
              "--cluster none trains in each by itself",
              world.variable, is_several ? "are" : "is", printable(world.value), world.count, world.members, together)
      .value();
}

std::optional<StatedIndex> find_stated_index(const Environment& env) {
  if (env.has("TFD_SEQ") || env.has("TFD_TASK")) return std::nullopt;
  if (const auto rank = find_mpi_rank_variable(env); rank == "PMIX_RANK" && !env.has("PMIX_SIZE"))
    return StatedIndex{*rank, env.get(*rank), "--cluster mpi --jobs worker=N"};
  if (const auto index = env.find("JOB_COMPLETION_INDEX"); index && !index->empty())
    return StatedIndex{"JOB_COMPLETION_INDEX", *index,
                       "tfd-launch --rendezvous JOB-0.SERVICE:29400 --nnodes N -- tfd-run …"};
  return std::nullopt;
}

}  // namespace tfd::resolve
