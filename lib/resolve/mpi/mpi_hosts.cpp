// SPDX-License-Identifier: Apache-2.0
//
// Where MPI's ranks may be: hostfiles, and what PBS, LSF, Grid Engine and Slurm tell the programs of a job.
#include "mpi_env.hpp"
#include "tfd/base/text.hpp"
#include "tfd/base/units.hpp"
#include "tfd/resolve/hostlist.hpp"

namespace tfd::resolve::detail {
namespace {

using MaybeHosts = Result<std::optional<MpiHosts>>;

std::vector<std::string> words_of(std::string_view line) {
  std::vector<std::string> words;
  std::size_t at = 0;
  while ((at = line.find_first_not_of(" \t\r", at)) != std::string_view::npos) {
    const std::size_t end = std::min(line.find_first_of(" \t\r", at), line.size());
    words.emplace_back(line.substr(at, end - at));
    at = end;
  }
  return words;
}

Result<std::int64_t> parse_slots(std::string_view text) {
  const auto slots = parse_integer(text, 0, kMostTasks);
  if (slots) return *slots;
  return fail(Code::kInvalidArgument, "'{}' is not a number of slots from 0 to {}", printable(text), kMostTasks);
}

/// "host", "host:4", "user@host", "[::1]:4", "::1"; the slots where it says any.
struct HostWord {
  std::string name;
  std::optional<std::int64_t> slots;
};
Result<HostWord> parse_host_word(std::string_view word) {
  if (const std::size_t at = word.find('@'); at != std::string_view::npos) word.remove_prefix(at + 1);
  HostWord out;
  std::size_t colon = word.find(':');
  if (word.starts_with('[')) {
    const std::size_t close = word.find(']');
    if (close == std::string_view::npos)
      return fail(Code::kInvalidArgument, "'{}': a '[' without ']'", printable(word));
    out.name = word.substr(1, close - 1);
    colon = close + 1 < word.size() ? close + 1 : std::string_view::npos;
  } else if (colon != std::string_view::npos && word.find(':', colon + 1) != std::string_view::npos) {
    colon = std::string_view::npos;  // a bare IPv6 address
    out.name = word;
  } else {
    out.name = word.substr(0, colon);
  }
  if (colon != std::string_view::npos) out.slots = TFD_TRY(parse_slots(word.substr(colon + 1)));
  if (out.name.empty()) return fail(Code::kInvalidArgument, "'{}' does not name a host", printable(word));
  return out;
}

Result<std::optional<MpiHost>> parse_line(std::string_view line) {
  line = line.substr(0, line.find('#'));
  const std::vector<std::string> words = words_of(line);
  if (words.empty()) return std::nullopt;
  const HostWord word = TFD_TRY(parse_host_word(words.front()));
  MpiHost host{word.name, word.slots.value_or(1)};
  for (std::size_t i = 1; i < words.size(); ++i) {
    const std::size_t equals = words[i].find('=');
    const std::string key = words[i].substr(0, equals);
    if (equals == std::string::npos)
      return fail(Code::kInvalidArgument, "'{}' is neither slots=N nor another KEY=VALUE", printable(words[i]));
    if (key == "slots" || key == "cpu" || key == "count")
      host.slots = TFD_TRY(parse_slots(words[i].substr(equals + 1)));
  }
  return host;
}

/// A file, a line a slot or with a number of slots.
MaybeHosts load_hosts(const ResolverEnvironment& around, const std::string& path, std::string source) {
  const std::string text = TFD_TRY(around.load_file(path), source);
  auto hosts = TFD_TRY(parse_mpi_hostfile(text), source);
  if (hosts.empty()) return fail(Code::kInvalidArgument, "{}: {} does not name a host", source, printable(path));
  return MpiHosts{std::move(source), std::move(hosts)};
}

/// LSF: "h1 4 h2 4".
MaybeHosts from_lsb_mcpu_hosts(const std::string& text) {
  const std::vector<std::string> words = words_of(text);
  MpiHosts out{"LSB_MCPU_HOSTS", {}};
  if (words.empty() || words.size() % 2 != 0)
    return fail(Code::kInvalidArgument, "LSB_MCPU_HOSTS: '{}' is not a list of hosts and numbers", printable(text));
  for (std::size_t i = 0; i < words.size(); i += 2) {
    const auto slots = TFD_TRY(parse_slots(words[i + 1]), "LSB_MCPU_HOSTS");
    out.hosts.push_back({words[i], slots});
  }
  return out;
}

/// Grid Engine: "host slots queue processors" a line.
MaybeHosts from_pe_hostfile(const ResolverEnvironment& around, const std::string& path) {
  const std::string text = TFD_TRY(around.load_file(path), "PE_HOSTFILE");
  MpiHosts out{"PE_HOSTFILE", {}};
  for (const std::string& line : split(text, '\n')) {
    const std::vector<std::string> words = words_of(line);
    if (words.empty()) continue;
    if (words.size() < 2) return fail(Code::kInvalidArgument, "PE_HOSTFILE: '{}' is not HOST SLOTS …", printable(line));
    const auto slots = TFD_TRY(parse_slots(words[1]), "PE_HOSTFILE");
    out.hosts.push_back({words[0], slots});
  }
  if (out.hosts.empty()) return fail(Code::kInvalidArgument, "PE_HOSTFILE: {} does not name a host", printable(path));
  return out;
}

/// mpirun in a Slurm job has a slot for each of its tasks. A rank that mpirun started by srun sees the counts of
/// mpirun's daemons instead, one on each node; then SLURM_JOB_CPUS_PER_NODE tells more.
MaybeHosts from_slurm(const Environment& env) {
  const auto names = TFD_TRY(expand_hostlist(env.get("SLURM_JOB_NODELIST"), Compat::kNone), "SLURM_JOB_NODELIST");
  const bool daemons = env.find("SLURM_STEP_TASKS_PER_NODE") == env.find("SLURM_TASKS_PER_NODE");
  for (const std::string_view variable : {"SLURM_TASKS_PER_NODE", "SLURM_JOB_CPUS_PER_NODE"}) {
    const auto text = env.find(variable);
    if (!text || (daemons && variable == "SLURM_TASKS_PER_NODE" && env.has("SLURM_JOB_CPUS_PER_NODE"))) continue;
    const std::vector<int> counts = TFD_TRY(expand_tasks_per_node(*text), variable);
    if (counts.size() != names.size()) continue;
    MpiHosts out{fmt::format("SLURM_JOB_NODELIST and {}", variable), {}};
    for (std::size_t i = 0; i < names.size(); ++i) out.hosts.push_back({names[i], counts[i]});
    return out;
  }
  return std::nullopt;
}

}  // namespace

Result<std::vector<MpiHost>> parse_mpi_hostfile(std::string_view text) {
  std::vector<MpiHost> hosts;
  int number = 0;
  for (const std::string& line : split(text, '\n')) {
    ++number;
    auto host = TFD_TRY(parse_line(line), fmt::format("line {}", number));
    if (!host) continue;
    if (!hosts.empty() && hosts.back().name == host->name) {
      hosts.back().slots += host->slots;
    } else {
      hosts.push_back(std::move(*host));
    }
    if (hosts.size() > kMostHosts) return fail(Code::kInvalidArgument, "more than {} hosts", kMostHosts);
  }
  return hosts;
}

MaybeHosts find_mpi_hosts(const ResolverEnvironment& around, const MpiOptions& options) {
  const Environment& env = around.env;
  if (options.hostfile) return load_hosts(around, *options.hostfile, "--hostfile");
  for (const std::string_view name : {"OMPI_MCA_orte_default_hostfile", "PRTE_MCA_prte_default_hostfile",
                                      "HYDRA_HOST_FILE", "I_MPI_HYDRA_HOST_FILE", "PBS_NODEFILE", "LSB_DJOB_HOSTFILE"})
    if (const std::string path = env.get(name); !path.empty()) return load_hosts(around, path, std::string(name));
  if (const auto text = env.find("LSB_MCPU_HOSTS")) return from_lsb_mcpu_hosts(*text);
  if (const std::string path = env.get("PE_HOSTFILE"); !path.empty()) return from_pe_hostfile(around, path);
  if (env.has("SLURM_JOB_NODELIST")) return from_slurm(env);
  return std::nullopt;
}

}  // namespace tfd::resolve::detail
