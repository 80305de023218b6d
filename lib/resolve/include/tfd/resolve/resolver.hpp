#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Cluster resolvers: the tasks of the cluster, and this process's own. Each is a function of the environment and its
// options; one file per resolver. Thread rule: pure functions (a device lister may start nvidia-smi).
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "tfd/base/compat.hpp"
#include "tfd/base/deadline.hpp"
#include "tfd/base/environment.hpp"
#include "tfd/cluster/cluster_config.hpp"

namespace tfd::resolve {

using tfd::Compat;

/// Job name -> number of tasks, in the order given: "chief=1,worker=3". kInvalidArgument says what is wrong with which.
using JobCounts = std::vector<std::pair<std::string, int>>;
Result<JobCounts> parse_job_counts(std::string_view text);
/// A warning about each name in "workers=2,ps=1" that is nearly one of TensorFlow's: its plural, or off by one letter.
/// Other names are users' own.
std::vector<std::string> nearly_known_jobs(std::string_view counts);

/// `resolver` of the result says which one it was.
struct SimpleOptions {
  std::vector<std::pair<std::string, std::vector<std::string>>> jobs;  // job -> addresses
  std::optional<cluster::TaskId> task;
  std::string master;
  std::string environment;
  std::optional<std::string> rpc_layer;
  std::map<std::string, int> num_accelerators;
};
Result<cluster::ClusterConfig> resolve_simple(const SimpleOptions& options);
/// counts tasks on 127.0.0.1, port 0: tfd-serve picks free ones.
Result<cluster::ClusterConfig> resolve_local(const JobCounts& jobs, const std::optional<cluster::TaskId>& task);

struct TfConfigOptions {
  std::optional<std::string> task_type;
  std::optional<int> task_id;
  std::optional<std::string> rpc_layer;
  std::optional<std::string> environment;
  Compat compat = Compat::kNone;
};
/// Reads the variable TF_CONFIG. kNotFound when it is unset, but with Compat::kTensorflow, where that is an empty
/// cluster.
Result<cluster::ClusterConfig> resolve_tf_config(const Environment& env, const TfConfigOptions& options);
/// Whether TF_CONFIG names a task of a cluster. Not where it is unset, blank, {} or without any task; one that can't be
/// read counts, so that its error is seen.
bool names_cluster(const Environment& env);

/// The number of GPUs by `nvidia-smi --list-gpus`, or nullopt if it is missing; kFailedPrecondition with its output if
/// it fails.
using GpuLister = std::function<Result<std::optional<int>>()>;
/// Its answer as a number: the lines that begin with "GPU ". kFailedPrecondition where it exited with another code than
/// 0.
Result<std::optional<int>> count_gpus(std::string_view output, int exit_code);
/// Runs nvidia-smi, found in PATH of `env`.
GpuLister nvidia_smi_lister(const Environment& env, Deadline deadline);

/// Job name -> components of a heterogeneous job.
using JobComponents = std::vector<std::pair<std::string, std::vector<int>>>;

struct SlurmOptions {
  JobCounts jobs;  // with `job_components` empty: all tasks are workers
  std::optional<int> port_base;
  std::optional<int> gpus_per_node;
  std::optional<int> gpus_per_task;
  std::optional<std::variant<int, std::vector<std::pair<std::string, int>>>> tasks_per_node;
  bool auto_set_gpu = true;
  std::string rpc_layer = "grpc";
  Compat compat = Compat::kNone;
  /// Reads SLURM_HOSTFILE, for tasks distributed by an arbitrary list; process::load_file in tools.
  std::function<Result<std::string>(const std::string& path)> load_hostfile = {};
  /// The components of a heterogeneous Slurm job whose tasks all belong to one job; `jobs` share the others.
  JobComponents job_components = {};
};
/// Fills `jobs` and `job_components`: "chief=1,ps=het:0,worker=het:1+2". kInvalidArgument says what is wrong with
/// which; a component belongs to one job.
Result<void> parse_slurm_jobs(std::string_view text, SlurmOptions& options);
/// Resolves from the variables of a job step, else of the job (all its components, where it is heterogeneous); the
/// result has no task in a batch script and a salloc shell. kFailedPrecondition: not in a job, the counts don't add up
/// (both numbers), more GPUs than exist, a rank at another place than SLURM_DISTRIBUTION gives it.
/// kInvalidArgument: a variable that can't be read. O(tasks).
Result<cluster::ClusterConfig> resolve_slurm(const Environment& env, const SlurmOptions& options,
                                             const GpuLister& gpus);

}  // namespace tfd::resolve
