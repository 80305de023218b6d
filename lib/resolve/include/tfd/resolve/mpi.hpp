#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// A process started by mpirun or mpiexec: Open MPI, PMIx, MPICH and its kin with Hydra. Their variables say the rank
// and the number of ranks, not the hosts: those come from a hostfile, from the batch system, or are this host alone
// where all ranks are local. Ranks fill the hosts' slots in order, which is checked against the own place. Thread rule:
// pure functions.
#include <optional>
#include <string>

#include "tfd/resolve/resolver_environment.hpp"

namespace tfd::resolve {

struct MpiOptions {
  JobCounts jobs;  // empty: all ranks are workers
  std::optional<std::string> hostfile;
  std::optional<int> port_base;
  std::string rpc_layer = "grpc";
};
/// kFailedPrecondition: not started by MPI; nothing says the hosts; fewer slots than ranks; the jobs don't add up; this
/// rank is on another host, or another number there, than the slots say. kInvalidArgument: a variable or a hostfile
/// that can't be read. O(ranks).
Result<cluster::ClusterConfig> resolve_mpi(const ResolverEnvironment& environment, const MpiOptions& options);

/// The launcher's variable that states this process' rank; nullopt outside of MPI, and where Slurm itself started the
/// ranks (srun --mpi=pmix): its variables say more.
std::optional<std::string> find_mpi_rank_variable(const Environment& env);

}  // namespace tfd::resolve
