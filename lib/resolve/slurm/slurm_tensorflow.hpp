#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// SlurmClusterResolver exactly as TensorFlow 2.21 has it, in its two steps: the constructor, which reads and checks,
// and cluster_spec(). resolve_slurm() uses it under Compat::kTensorflow. Thread rule: plain values.
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tfd/resolve/resolver.hpp"

namespace tfd::resolve {

struct SlurmTensorflow {
  int rank = 0;
  std::vector<std::pair<std::string, int>> jobs;   // by name
  std::vector<std::pair<std::string, int>> hosts;  // by name, each once, with its number of tasks
  int port_base = 8888;
  int gpus_per_node = 0;
  int gpus_per_task = 0;
};
struct SlurmAllocation {
  cluster::ClusterSpec cluster;
  std::optional<cluster::TaskId> task;
  std::vector<std::string> devices_by_rank;    // "2,3"
  std::optional<std::string> visible_devices;  // of this rank, where they are set automatically
};

/// The constructor. kFailedPrecondition where TensorFlow raises RuntimeError, kInvalidArgument for its ValueErrors and
/// crashes.
Result<SlurmTensorflow> read_slurm_as_tensorflow(const Environment& env, const SlurmOptions& options,
                                                 const GpuLister& gpus);
/// cluster_spec(). kInvalidArgument where TensorFlow crashes: no GPU for a task, a rank past the end.
Result<SlurmAllocation> allocate_as_tensorflow(const SlurmTensorflow& slurm, bool auto_set_gpu);

}  // namespace tfd::resolve
