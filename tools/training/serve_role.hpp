#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// One command line for every task of a cluster: a task whose part it is to serve becomes tfd-serve, for this run alone.
// Thread rule: main thread.
#include <string>
#include <vector>

#include "tfd/cli/tool.hpp"
#include "tfd/cluster/cluster_config.hpp"

namespace tfd::training {

/// Finds a tool; one beside this executable wins over PATH.
std::string find_tool(const std::string& name);

struct ServeOptions {
  std::string data_root;
  bool insecure = false;
  Duration grace{};           // time that it keeps serving when the whole step is ended, so that others can save
  std::string key_file = {};  // --key-file, where it was given
  std::string http = {};      // --http
};
/// Command line of tfd-serve with these options and our verbosity; the caller adds the tasks.
std::vector<std::string> serve_command(const ServeOptions& options, const cli::Io& io);
/// The server of this one task, which ends with the goodbye.
std::vector<std::string> serve_task_command(const cluster::TaskId& task, const ServeOptions& options,
                                            const cli::Io& io);
/// "-q", or as many "-v" as were given.
std::vector<std::string> talk_options(const cli::Io& io);

/// Becomes `command`, with the cluster in TF_CONFIG where it serves; returns only where that fails.
Error become(const std::vector<std::string>& command, const cluster::ClusterConfig& config, const cli::Io& io);

}  // namespace tfd::training
