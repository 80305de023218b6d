#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// What Slurm's variables say, read and checked: who runs where. Inside the room only. Thread rule: plain values.
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tfd/resolve/resolver.hpp"

namespace tfd::resolve::detail {

/// kInvalidArgument: "SLURM_PROCID: 'x' is not an integer".
Result<int> slurm_integer(std::string_view name, std::string_view value);

struct SlurmNode {
  std::string host;
  int tasks = 0;
};

struct SlurmJob {
  std::vector<SlurmNode> nodes;  // in the nodelist's order; a host may be there twice
  std::int64_t total = 0;        // tasks
  std::optional<int> rank;       // absent outside a task
  std::string no_task_reason;    // then
};

/// The step's variables, else the job's. Errors as resolve_slurm().
Result<SlurmJob> read_slurm_job(const Environment& env, const SlurmOptions& options);

/// Of every rank: its node and the how manieth task of that host it is.
struct SlurmPlace {
  int node = 0;
  int local = 0;
};
/// By SLURM_DISTRIBUTION, checked against SLURMD_NODENAME and SLURM_LOCALID of this task.
Result<std::vector<SlurmPlace>> place_ranks(const Environment& env, const SlurmOptions& options, const SlurmJob& job);

/// The port of the local-th task of a host: --port-base, else SLURM_STEP_RESV_PORTS, else from job and step id.
class SlurmPorts {
 public:
  static Result<SlurmPorts> choose(const Environment& env, const SlurmOptions& options, int most_per_host);
  int port(int local) const;

 private:
  std::vector<int> reserved_;
  int first_ = 0;
  bool wraps_ = false;
};

/// Tasks per host: of the fullest, and of this task's own (absent outside a task).
struct SlurmShares {
  int most_per_host = 0;
  std::optional<int> own_local = {};
  int own_host = 0;
};
/// How many GPUs a task has, and which those of this task are.
struct SlurmGpus {
  int per_task = 0;
  std::optional<std::string> visible_devices;
};
Result<SlurmGpus> share_gpus(const Environment& env, const SlurmOptions& options, const GpuLister& lister,
                             const SlurmShares& shares);

}  // namespace tfd::resolve::detail
