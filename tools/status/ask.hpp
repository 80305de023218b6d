#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Polls the state of every task of a spec over connections that stay open between polls. Read-only. Thread rule: one
// thread, but for give_up().
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
#include "tfd/transport/endpoint.hpp"

namespace tfd::status {

enum class State {
  kUp,
  kStarting,     // answers, but serves nothing yet
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
  /// True if it is running but refuses us: another key, or another version.
  bool is_refused() const {
    return state == State::kUnreachable && (code == Code::kPermissionDenied || code == Code::kProtocolMismatch);
  }
};

class Tasks {
 public:
  /// Connects to the tasks. kInvalidArgument for a spec without tasks, or a task without a port (0).
  static Result<Tasks> connect(const cluster::ClusterSpec& spec, const transport::EndpointFactory& make_endpoint,
                               const Log& log);
  Tasks(Tasks&&) noexcept;
  Tasks& operator=(Tasks&&) noexcept;
  ~Tasks();

  /// Polls all tasks at once; one that doesn't answer within `patience` is unreachable.
  std::vector<TaskReport> ask(Duration patience);
  /// Polls until all are ready, the deadline, a lasting refusal, or `in_vain` is true; returns the last poll's reports.
  std::vector<TaskReport> wait(
      Deadline deadline, const std::function<bool()>& in_vain = [] { return false; });
  /// Waits until a task appeared or was lost since the last poll, or until the deadline.
  void wait_for_change(Deadline deadline);
  /// Ends the present ask(), whatever it knows, and later ones at once. For any thread.
  void give_up();

 private:
  struct Bell;
  Tasks() = default;

  std::shared_ptr<Bell> bell_;  // shared with the endpoint's callbacks
  std::unique_ptr<transport::Endpoint> endpoint_;
  std::vector<cluster::Task> tasks_;
  std::vector<task::TaskClient> clients_;
};

}  // namespace tfd::status
