#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Variables of MPI's launchers and of the batch systems around them. Inside the room only.
// Thread rule: plain values.
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tfd/resolve/mpi.hpp"

namespace tfd::resolve::detail {

struct MpiRank {
  std::string variable;       // that said it
  std::string size_variable;  // that says the size
  int rank = 0;
  std::optional<int> size;  // PMIx alone doesn't say it
  std::optional<int> local_rank;
  std::optional<int> local_size;
};
/// kFailedPrecondition: not started by MPI. kInvalidArgument: "PMI_RANK: 'x' is not an integer from 0".
Result<MpiRank> read_mpi_rank(const Environment& env);

struct MpiHost {
  std::string name;
  std::int64_t slots = 1;
};
struct MpiHosts {
  std::string source;  // "--hostfile hosts", "PBS_NODEFILE"
  std::vector<MpiHost> hosts;
};
/// nullopt where nothing says them. kInvalidArgument names the source and the line.
Result<std::optional<MpiHosts>> find_mpi_hosts(const ResolverEnvironment& environment, const MpiOptions& options);

/// Open MPI's "host slots=4 max-slots=8", Hydra's "host:4", bare "host" (once each time); # begins a comment.
Result<std::vector<MpiHost>> parse_mpi_hostfile(std::string_view text);

/// The first port of a host's ranks: --port-base, else derived from the id of this mpirun or of the batch job.
int mpi_first_port(const Environment& env, const MpiOptions& options);

}  // namespace tfd::resolve::detail
