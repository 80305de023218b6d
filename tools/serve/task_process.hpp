#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// The other end of the supervisor: one task, served in a process of its own (see tfd/launch/supervisor.hpp for its
// descriptors). Thread rule: main thread.
#include <string>

#include "tfd/cli/tool.hpp"
#include "tfd/cluster/task_id.hpp"

namespace tfd::serve {

struct TaskProcess {
  cluster::TaskId task;
  std::string bind;  // what the socket it is given listens on
  std::string data_root;
  std::string devices = "1";  // of a worker, as --devices has it
  bool drains = false;        // only the supervisor may end it, once all that wait for it had their time
  std::string key_file = {};  // of the cluster; empty: it has no key
  bool allow_native = false;  // plug-ins and commands, to who has the key
};

/// Serves until a coordinator says goodbye: 0; or until the supervisor is gone or a signal comes: the signal to end by.
Result<int> run_task_process(const TaskProcess& wanted, cli::Io& io);

}  // namespace tfd::serve
