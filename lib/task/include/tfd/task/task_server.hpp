#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// The standard server of a task: a worker runs functions, a parameter server holds variables. The PJRT plug-in is
// loaded with the first program that has functions. Thread rule: the parameter server decides on the endpoint's I/O
// thread what is done with its variables, and a few threads do it; a worker runs closures on one executor thread, in
// the order they came.
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "tfd/base/environment.hpp"
#include "tfd/base/error.hpp"
#include "tfd/base/log.hpp"
#include "tfd/cluster/task_id.hpp"
#include "tfd/function/function.hpp"
#include "tfd/transport/endpoint.hpp"

namespace tfd::task {

using EndpointFactory = std::function<Result<std::unique_ptr<transport::Endpoint>>(transport::EndpointOptions)>;

/// Plug-ins and commands: for a worker that may run what it is given, by those who have the cluster's key.
struct NativeOptions {
  bool allowed = false;
  Environment environment = {};  // of commands
};

struct TaskServerOptions {
  cluster::TaskId task;
  std::string bind;            // "127.0.0.1:0"
  int listen_fd = -1;          // already listening: handed over by the supervisor
  std::string data_root = {};  // relative data paths start here; empty: at the program's directory
  EndpointFactory make_endpoint = transport::make_zmq_endpoint;
  /// Of a worker: how many devices its engine has, each of which runs a replica of a training step.
  int devices = 1;
  /// Of a parameter server: how many threads apply updates; 0: as many as it has cores, at most four.
  int apply_threads = 0;
  /// Called once, when a program with functions arrives.
  std::function<Result<std::shared_ptr<function::Engine>>()> make_engine = {};
  /// A coordinator said goodbye; called on the I/O thread, after the answer was sent.
  std::function<void()> on_shutdown = {};
  /// Of the cluster: whoever doesn't have it gets no connection.
  std::optional<transport::CurveKey> key = {};
  NativeOptions native = {};
  Log log = {};
};

class TaskServer {
 public:
  virtual ~TaskServer() = default;
  virtual std::string address() const = 0;
  virtual transport::Incarnation incarnation() const = 0;
};

/// kFailedPrecondition: native without a key.
Result<std::unique_ptr<TaskServer>> start_task_server(TaskServerOptions options);

}  // namespace tfd::task
