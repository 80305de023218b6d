#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// The supervised process, which serves one task (see tfd/launch/supervisor.hpp for its descriptors). Thread rule: main
// thread.
#include <string>

#include "tfd/cli/tool.hpp"
#include "tfd/cluster/task_id.hpp"

namespace tfd::serve {

struct TaskProcess {
  cluster::TaskId task;
  std::string bind;  // address of the inherited listening socket
  std::string data_root;
  std::string devices = "1";  // a worker's devices, in the form of --devices
  bool once = false;          // it serves one coordinator, and says so while none comes
  bool drains = false;        // only the supervisor ends it, once it has drained
  std::string key_file = {};  // the cluster's key; empty: none
  std::string log_file = {};  // its output, kept by the supervisor; empty: nowhere
  bool allow_native = false;  // clients may run plug-ins and commands
};

/// Serves until a coordinator says goodbye, and returns 0; or until the supervisor is gone or a signal comes, and
/// returns the signal to end by.
Result<int> run_task_process(const TaskProcess& wanted, cli::Io& io);

}  // namespace tfd::serve
