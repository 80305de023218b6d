// SPDX-License-Identifier: Apache-2.0
#include "mpi_env.hpp"

#include <array>

#include "tfd/base/text.hpp"
#include "tfd/base/units.hpp"
#include "tfd/resolve/hostlist.hpp"

namespace tfd::resolve {
namespace {

/// The variables of one launcher. MPICH's kin (Hydra, Intel MPI, MVAPICH) say the local ones in several ways.
struct Launcher {
  std::string_view rank;
  std::string_view size;
  std::array<std::string_view, 3> local_rank;
  std::array<std::string_view, 3> local_size;
};
constexpr std::array<Launcher, 4> kLaunchers{{
    {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", {"OMPI_COMM_WORLD_LOCAL_RANK"}, {"OMPI_COMM_WORLD_LOCAL_SIZE"}},
    {"MV2_COMM_WORLD_RANK", "MV2_COMM_WORLD_SIZE", {"MV2_COMM_WORLD_LOCAL_RANK"}, {"MV2_COMM_WORLD_LOCAL_SIZE"}},
    {"PMI_RANK", "PMI_SIZE", {"MPI_LOCALRANKID", "PMI_LOCAL_RANK"}, {"MPI_LOCALNRANKS", "PMI_LOCAL_SIZE"}},
    {"PMIX_RANK", "PMIX_SIZE", {"PMIX_LOCAL_RANK"}, {"PMIX_LOCAL_SIZE"}},
}};

/// srun --mpi=pmi2 and --mpi=pmix set PMI_RANK and PMIX_RANK too, and then SLURM_PROCID is the rank. Under mpirun it is
/// the number of the daemon that started the rank.
bool is_slurms_own(const Environment& env, const Launcher& launcher) {
  return launcher.rank.starts_with("PMI") && !env.has("MPI_LOCALRANKID") && env.has("SLURM_STEP_NODELIST") &&
         env.find("SLURM_PROCID") == env.find(launcher.rank);
}

const Launcher* find_launcher(const Environment& env) {
  for (const Launcher& launcher : kLaunchers)
    if (env.has(launcher.rank) && !is_slurms_own(env, launcher)) return &launcher;
  return nullptr;
}

Result<std::optional<int>> read_number(const Environment& env, std::string_view name, int least) {
  const auto text = name.empty() ? std::nullopt : env.find(name);
  if (!text) return std::nullopt;
  const auto number = parse_integer(*text, least, kMostTasks);
  if (!number)
    return fail(Code::kInvalidArgument, "{}: '{}' is not an integer from {} to {}", name, printable(*text), least,
                kMostTasks);
  return static_cast<int>(*number);
}

Result<std::optional<int>> read_first(const Environment& env, const std::array<std::string_view, 3>& names, int least) {
  for (const std::string_view name : names)
    if (const auto number = TFD_TRY(read_number(env, name, least))) return number;
  return std::nullopt;
}

// Ports are chosen as for Slurm: below the ephemeral range, 711 slots of 32 (slurm_ports.cpp).
constexpr int kFirstPort = 10000;
constexpr int kSlotPorts = 32;
constexpr std::uint64_t kSlots = 711;
constexpr std::uint64_t kJobStride = 8;
constexpr int kUsualPort = 8888;  // where nothing identifies the run

/// FNV-1a.
std::uint64_t hash_text(std::string_view text) {
  std::uint64_t hash = 0xcbf29ce484222325;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  return hash;
}

}  // namespace

std::optional<std::string> find_mpi_rank_variable(const Environment& env) {
  const Launcher* launcher = find_launcher(env);
  return launcher == nullptr ? std::nullopt : std::optional<std::string>(launcher->rank);
}

namespace detail {

Result<MpiRank> read_mpi_rank(const Environment& env) {
  const Launcher* launcher = find_launcher(env);
  if (launcher == nullptr) {
    std::vector<std::string> names;
    for (const Launcher& known : kLaunchers) names.emplace_back(known.rank);
    return fail(Code::kFailedPrecondition, "none of {} is set: not started by mpirun or mpiexec?", join_words(names));
  }
  MpiRank out;
  out.variable = launcher->rank;
  out.size_variable = launcher->size;
  out.rank = *TFD_TRY(read_number(env, launcher->rank, 0));
  out.size = TFD_TRY(read_number(env, launcher->size, 1));
  out.local_rank = TFD_TRY(read_first(env, launcher->local_rank, 0));
  out.local_size = TFD_TRY(read_first(env, launcher->local_size, 1));
  if (out.size && out.rank >= *out.size)
    return fail(Code::kFailedPrecondition, "{} is {}, but {} is {}", out.variable, out.rank, launcher->size, *out.size);
  return out;
}

int mpi_first_port(const Environment& env, const MpiOptions& options) {
  if (options.port_base) return *options.port_base;
  // Every mpirun has a namespace of its own, also several of them in one batch job.
  for (const std::string_view name :
       {"PMIX_NAMESPACE", "PMI_JOBID", "SLURM_JOB_ID", "PBS_JOBID", "LSB_JOBID", "JOB_ID"}) {
    const std::string id = env.get(name);
    if (id.empty()) continue;
    const auto number = name.starts_with("PMI") ? Result<std::int64_t>(fail(Code::kNotFound, "a hash"))
                                                : parse_integer(id, 0, 0xffffffff);
    const std::uint64_t slot = number ? static_cast<std::uint64_t>(*number) * kJobStride : hash_text(id);
    return kFirstPort + kSlotPorts * static_cast<int>(slot % kSlots);
  }
  return kUsualPort;
}

}  // namespace detail
}  // namespace tfd::resolve
