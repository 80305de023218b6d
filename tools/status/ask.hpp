#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// How every task of a spec is, asked over connections that stay open between two looks. Asks, and changes nothing.
// Thread rule: main thread.
//
//   auto tasks = TFD_TRY(status::Tasks::connect(config.cluster, make_endpoint, log));
//   std::vector<status::TaskReport> reports = tasks.ask(2s);
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tfd/cluster/cluster_spec.hpp"
#include "tfd/task/task_client.hpp"
#include "tfd/task/task_server.hpp"
#include "tfd/transport/endpoint.hpp"

namespace tfd::status {

enum class State {
  kUp,
  kStarting,     // answers, and serves nothing yet
  kUnreachable,  // `reason` says why
  kNotServed,    // a chief or evaluator, for which nothing needs to listen
};

struct TaskReport {
  cluster::Task task;
  State state = State::kUnreachable;
  std::string reason;
  Code code = Code::kUnknown;              // of an unreachable one
  std::optional<task::TaskStatus> status;  // where it answered
  bool is_ready() const { return state == State::kUp || state == State::kNotServed; }
  /// It is there, and won't talk to us: another key, or another version.
  bool is_refused() const {
    return state == State::kUnreachable && (code == Code::kPermissionDenied || code == Code::kProtocolMismatch);
  }
};

class Tasks {
 public:
  /// kInvalidArgument for a spec without tasks, or with a task that nobody could connect to (port 0).
  static Result<Tasks> connect(const cluster::ClusterSpec& spec, const task::EndpointFactory& make_endpoint,
                               const Log& log);
  Tasks(Tasks&&) noexcept;
  Tasks& operator=(Tasks&&) noexcept;
  ~Tasks();

  /// Everyone at once; who hasn't answered within `patience` is unreachable.
  std::vector<TaskReport> ask(Duration patience);
  /// Asks until all are ready, time runs out, somebody goes on refusing, or `in_vain` between two looks; what the last
  /// look saw.
  std::vector<TaskReport> wait(
      Deadline deadline, const std::function<bool()>& in_vain = [] { return false; });
  /// Until somebody came or went since the last look, or the deadline.
  void wait_for_change(Deadline deadline);

 private:
  struct Bell;
  Tasks() = default;

  std::shared_ptr<Bell> bell_;  // with the endpoint's callbacks
  std::unique_ptr<transport::Endpoint> endpoint_;
  std::vector<cluster::Task> tasks_;
  std::vector<task::TaskClient> clients_;
};

}  // namespace tfd::status
