#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// The commands of tfd-checkpoint. Thread rule: main thread.
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tfd/cli/tool.hpp"

namespace tfd::checkpoint_tool {

struct Asked {
  std::string command;
  std::vector<std::string> paths;
  std::vector<std::string> variables;
  std::string output;
  std::optional<std::int64_t> step;
  double tolerance = 0;
  bool json = false;
};

struct Command {
  std::string_view name;
  std::size_t least, most;  // paths
  std::string_view takes;   // what these are, for errors
  bool writes;              // to --output
  Result<cli::ExitCode> (*run)(const Asked&, cli::Io&);
};
std::span<const Command> commands();

}  // namespace tfd::checkpoint_tool
