#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// The stderr of tasks, a file for each (--log-dir). Thread rule: thread-compatible.
#include <map>
#include <string>
#include <string_view>

#include "tfd/base/error.hpp"
#include "tfd/cluster/task_id.hpp"
#include "tfd/process/fd.hpp"

namespace tfd::serve {

/// DIR/worker-1.log
std::string log_path(const std::string& directory, const cluster::TaskId& task);

class TaskLogs {
 public:
  /// Opens the file of a task, behind what an earlier run has left in it; makes its directory. kSystem.
  Result<void> open(const std::string& path, const cluster::TaskId& task);
  /// Adds a line to the file of a task that has one. kSystem, kResourceExhausted: it can't be written; that file is
  /// given up.
  Result<void> add(const std::string& task, std::string_view line);

 private:
  struct File {
    std::string path;
    process::Fd fd;
  };
  std::map<std::string, File> files_;  // by "worker:1"
};

}  // namespace tfd::serve
