#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// The cluster's key as tfd-serve uses it: made on demand, handed to its tasks by path, named where clients look.
// Thread rule: plain functions.
#include <optional>
#include <string>

#include "tfd/cli/tool.hpp"
#include "tfd/task/key.hpp"

namespace tfd::serve {

/// --generate-key: at `asked` (--key-file; "-" is stdout), else TFD_KEY_FILE, else the default path, whose directories
/// are made. kAlreadyExists: never overwrites one.
Result<int> generate_key(const std::string& asked, cli::Io& io);

/// Paths; empty where nothing is to be said.
struct ServedKey {
  std::string path;         // of the key that the tasks are under
  std::string announced;    // in the spec: where clients wouldn't find the same by themselves
  std::string for_command;  // TFD_KEY_FILE of the command
};
ServedKey run_key(const task::RunKey& key);
ServedKey served_key(const std::optional<task::FoundKey>& found, const cluster::ClusterConfig& config, bool declined);

}  // namespace tfd::serve
