#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// A ClusterConfig in the forms that other programs read. Thread rule: pure functions.
#include <string>
#include <string_view>
#include <vector>

#include "tfd/base/environment.hpp"
#include "tfd/cluster/cluster_config.hpp"

namespace tfd::cluster {

enum class Format {
  kJson,
  kTfConfig,
  kEnv,
  kEnvFile,
  kTaskProlog,
  kHosts,
  kTable,
  kMpi,
  kPytorch,
  kTorchrun,
  kJax,
};
/// "json", "tf-config", "env", "env-file", "task-prolog", "hosts", "table", "mpi", "pytorch", "torchrun", "jax".
std::vector<std::string> format_names();
Result<Format> parse_format(std::string_view name);

/// Renders a config; ends with a newline. kInvalidArgument if the format needs a task and there is none ("no task here:
/// …").
Result<std::string> render(const ClusterConfig& config, Format format);
/// The TF_CONFIG document alone, on one line.
std::string tf_config(const ClusterConfig& config);
/// Variables that `tfd-resolve KIND -- CMD` sets for the child: TF_CONFIG, and CUDA_VISIBLE_DEVICES where known.
Environment child_environment(const ClusterConfig& config);
/// True for formats that set a command's environment: env (the above), pytorch, torchrun, jax (the above and theirs).
bool is_environment(Format format);
/// The environment of that format. kInvalidArgument if it needs a task and there is none, or one that takes no part.
Result<Environment> child_environment(const ClusterConfig& config, Format format);
/// A bare value: "cluster.worker[1]", "task.index", "master". kNotFound names the part of the path that is missing.
Result<std::string> get_path(const ClusterConfig& config, std::string_view path);

}  // namespace tfd::cluster
