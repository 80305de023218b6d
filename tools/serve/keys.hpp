#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// tfd-serve's handling of the cluster's key: made on demand, passed to tasks by path, announced to clients.
// Thread rule: plain functions.
#include <optional>
#include <string>

#include "tfd/cli/tool.hpp"
#include "tfd/task/key.hpp"

namespace tfd::serve {

/// --generate-key: makes a key at `asked` (--key-file; "-" is stdout), else TFD_KEY_FILE, else the default path, whose
/// directories are made. kAlreadyExists: never overwrites one.
Result<int> generate_key(const std::string& asked, cli::Io& io);

/// Paths of a key; empty if there is none to state.
struct ServedKey {
  std::string path;         // the tasks' key
  std::string announced;    // stated in the spec, if clients wouldn't find the same by default
  std::string for_command;  // TFD_KEY_FILE for the command
};
ServedKey run_key(const task::RunKey& key);
ServedKey served_key(const std::optional<task::FoundKey>& found, const cluster::ClusterConfig& config, bool declined);

}  // namespace tfd::serve
