#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// The life of a tfd-launch: start the tasks, pass on output and signals, and end as they do. Thread rule: main thread;
// the process has no other.
#include <optional>
#include <string>
#include <vector>

#include "tfd/cli/tool.hpp"
#include "tfd/launch/faults.hpp"
#include "tfd/launch/members.hpp"
#include "tfd/launch/task_group.hpp"
#include "tfd/process/signals.hpp"

namespace tfd::tool_launch {

struct SessionOptions {
  launch::TaskGroupOptions group;
  bool prefixed = true;
  std::string error_directory = {};
  std::optional<Duration> timeout = {};
  std::vector<launch::Fault> faults = {};
};

/// Runs the tasks to their end. Ends this process by the signal that ended them, if it was sent to us.
Result<int> run_session(SessionOptions options, launch::Members members, cli::Io& io);

}  // namespace tfd::tool_launch
