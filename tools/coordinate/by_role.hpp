#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// --by-role: one command line for every task of a cluster. The chief coordinates; a worker or parameter server becomes
// tfd-serve; an evaluator becomes a small cluster of its own around a tfd-coordinate that evaluates checkpoints.
// Thread rule: main thread.
#include <string>
#include <vector>

#include "tfd/cli/tool.hpp"
#include "tfd/cluster/cluster_config.hpp"
#include "training/serve_role.hpp"

namespace tfd::by_role {

struct Choice {
  std::string program;                 // of this command line
  std::vector<std::string> overrides;  // --set
  std::string data_root;
  bool insecure = false;
  Duration grace{};
  std::string key_file = {};
  std::string http = {};
};

/// Returns the command line that this task becomes; empty if it coordinates itself. kInvalidArgument if the cluster has
/// no parameter servers or no chief, or if this process's task isn't known.
Result<std::vector<std::string>> command_for(const cluster::ClusterConfig& config, const Choice& choice,
                                             const cli::Io& io);

}  // namespace tfd::by_role
