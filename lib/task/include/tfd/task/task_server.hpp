#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// The standard server of a task: a worker runs functions, a parameter server holds variables. The PJRT plug-in is
// loaded with the first program that has functions. Thread rule: the parameter server schedules work on its variables
// on the endpoint's I/O thread, and a few threads do it; a worker runs closures on one executor thread, in FIFO order.
#include <memory>
#include <string>

#include "tfd/task/task_server_options.hpp"

namespace tfd::task {

class TaskServer {
 public:
  virtual ~TaskServer() = default;
  virtual std::string address() const = 0;
  virtual transport::Incarnation incarnation() const = 0;
};

/// Starts the server. kFailedPrecondition: native code without a key.
Result<std::unique_ptr<TaskServer>> start_task_server(TaskServerOptions options);

}  // namespace tfd::task
