#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Slurm's variables, read and checked: which tasks run where. Inside the room only. Thread rule: plain values.
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tfd/resolve/resolver.hpp"

namespace tfd::resolve::detail {

/// kInvalidArgument: "SLURM_PROCID: 'x' is not an integer".
Result<int> slurm_integer(std::string_view name, std::string_view value);

struct SlurmVariable {
  std::string name;
  std::string value;
};
struct SlurmNode {
  std::string host;
  int tasks = 0;
  int component = 0;  // of a heterogeneous job
};

struct SlurmJob {
  std::vector<SlurmNode> nodes;  // by component, then in the nodelist's order; a host may be there twice
  int components = 0;            // 0: not a heterogeneous job
  std::int64_t total = 0;        // tasks
  std::optional<int> rank;       // absent outside a task
  std::string no_task_reason;    // then
};

/// The step's variables, else the job's. Errors as resolve_slurm().
Result<SlurmJob> read_slurm_job(const Environment& env, const SlurmOptions& options);

/// The environment of a heterogeneous job: how many components it has, 0 where it isn't one. Variables that another
/// job left behind (sbatch hands its environment on) don't count.
int count_components(const Environment& env);
/// A variable of one component: NAME_HET_GROUP_n, or NAME_PACK_GROUP_n as it was called before 20.02 and as srun still
/// calls some.
std::optional<SlurmVariable> find_of_component(const Environment& env, std::string_view name, int component);
/// A nodelist and the tasks of each of its hosts. kFailedPrecondition where there aren't as many.
Result<std::vector<SlurmNode>> zip_nodes(const SlurmVariable& hosts, const SlurmVariable& counts, int component);
/// All components' hosts, with the tasks of each; `tasks` instead where it is given.
Result<std::vector<SlurmNode>> read_component_nodes(const Environment& env, int components, std::optional<int> tasks);
/// A step's nodelist is sorted by name over all components, but its ranks are not: says which component each node is of
/// and puts the nodes in that order. Does nothing where the components' hosts aren't known.
Result<void> sort_by_component(const Environment& env, int components, std::vector<SlurmNode>& nodes);

/// Where a rank is: its node, and its local rank on that host.
struct SlurmPlace {
  int node = 0;
  int local = 0;
};
/// Places every rank by SLURM_DISTRIBUTION, checked against SLURMD_NODENAME and SLURM_LOCALID of this task.
Result<std::vector<SlurmPlace>> place_ranks(const Environment& env, const SlurmOptions& options, const SlurmJob& job);

/// The port of the local-th task of a host: --port-base, else SLURM_STEP_RESV_PORTS, else from job and step id.
/// Reserved ports are those of all components together, so each takes its own part of them.
class SlurmPorts {
 public:
  /// `most_per_host`: of each component, how many tasks its fullest host has.
  static Result<SlurmPorts> choose(const Environment& env, const SlurmOptions& options,
                                   const std::vector<int>& most_per_host);
  int port(int component, int local) const;

 private:
  std::vector<int> reserved_;
  std::vector<std::size_t> offsets_;  // into reserved_, by component
  int first_ = 0;
  bool wraps_ = false;
};

/// Tasks per host: of the fullest of this component, and of this task's own (absent outside a task).
struct SlurmShares {
  int most_per_host = 0;
  std::optional<int> own_local = {};
  int own_host = 0;
  std::int64_t total = 0;  // tasks of all hosts
  int components = 0;
};
/// How many GPUs a task has, and which those of this task are, by which variable.
struct SlurmGpus {
  int per_task = 0;
  std::optional<std::string> visible_devices;
  std::string variable = "CUDA_VISIBLE_DEVICES";
};
Result<SlurmGpus> share_gpus(const Environment& env, const SlurmOptions& options, const GpuLister& lister,
                             const SlurmShares& shares);

}  // namespace tfd::resolve::detail
