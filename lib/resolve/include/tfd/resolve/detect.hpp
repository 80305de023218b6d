#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// The resolver that fits where this process runs, by what the environment shows; the one list behind `tfd-resolve auto`
// and --cluster auto. Thread rule: pure functions; resolve_kind may block until the deadline.
#include <memory>
#include <string>
#include <vector>

#include "tfd/resolve/resolver_environment.hpp"

namespace tfd::resolve {

/// One place that was looked at: "slurm: SLURM_STEP_NODELIST is set".
struct Sighting {
  std::string kind;
  bool found = false;
  std::string why;
};
/// The resolvers in the order in which they were looked for, up to and including the first that fits: tf-config (where
/// TF_CONFIG names a cluster), mpi
/// (under mpirun or mpiexec, whose ranks SLURM_PROCID doesn't tell), slurm, tpu (a TPU VM or TPU_NAME), kubernetes (in
/// a pod).
std::vector<Sighting> detect(const Environment& env, const FileLoader& load_file);

/// The kinds that --cluster takes and that need no options: tf-config (env), slurm, kubernetes, tpu, mpi, auto.
bool is_kind(std::string_view name);
/// The detected kind. Findings go to the log at -v. kNotFound if nothing was detected: names everything that was
/// checked.
Result<std::string> choose_kind(const ResolverEnvironment& environment);
/// Processes that mpirun, mpiexec or srun has started together, and the kind that says of which cluster they are.
struct LaunchedTasks {
  std::string kind;
  int count = 0;
  std::string variable;  // the variable with the number of tasks
  std::string value;     // as it is set
};
/// The tasks that this process's launcher started; nullopt if none of these launchers did, if it started one, or if the
/// variables can't be read.
std::optional<LaunchedTasks> find_launched_tasks(const Environment& env);
/// Settings of a kind without options of its own.
struct KindOptions {
  std::optional<cluster::TaskId> task = {};
  std::string jobs = {};      // "ps=2,worker=3": of slurm and mpi, kUsage for others
  std::string hostfile = {};  // of mpi, kUsage for others
};
/// Otherwise with default options; auto as choose_kind(). `environment` must outlive it.
Result<std::unique_ptr<Resolver>> make_kind_resolver(std::string_view kind, const ResolverEnvironment& environment,
                                                     const KindOptions& options, Deadline deadline);
/// The same, asked once.
Result<cluster::ClusterConfig> resolve_kind(std::string_view kind, const ResolverEnvironment& environment,
                                            Deadline deadline);

/// A resolver whose answer can't change.
std::unique_ptr<Resolver> make_once(std::function<Result<cluster::ClusterConfig>()> answer);

}  // namespace tfd::resolve
