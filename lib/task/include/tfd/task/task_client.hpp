#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// The client of a task: requests that any task answers. WorkerClient and ServerClient add requests for
// workers and parameter servers only.
// Thread rule: thread-safe; callbacks run on the endpoint's I/O thread and must not block.
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tfd/base/deadline.hpp"
#include "tfd/base/error.hpp"
#include "tfd/program/program.hpp"
#include "tfd/task/coordination_messages.hpp"
#include "tfd/task/messages.hpp"
#include "tfd/task/status.hpp"
#include "tfd/tensor/tensor.hpp"
#include "tfd/transport/endpoint.hpp"

namespace tfd::task {

struct Placement;

/// A run's program and placement, encoded once; all requests share the bytes. Few tasks receive it at a time, so that
/// the first of thousands compile while it is still being sent to others. Immutable, and thread-safe.
class PackedProgram {
 public:
  PackedProgram() = default;  // empty, until another one is assigned
  static PackedProgram pack(const program::Program& program, const Placement& placement);

 private:
  friend class TaskClient;
  struct State;
  std::shared_ptr<const State> state_;  // of all copies
};

class TaskClient {
 public:
  template <class T>
  using Callback = std::function<void(Result<T>)>;

  TaskClient(transport::Endpoint& endpoint, transport::PeerId peer, std::string name)
      : endpoint_(endpoint), peer_(peer), name_(std::move(name)) {}
  transport::PeerId peer() const { return peer_; }
  const std::string& name() const { return name_; }
  /// Sets the epoch of requests that don't take one, for all copies of this client. load_program() sets it. A task
  /// refuses requests of another run than its own: kPermissionDenied, or kUnavailable where it has none.
  void set_epoch(std::uint64_t epoch) { *epoch_ = epoch; }
  std::uint64_t epoch() const { return *epoch_; }

  /// Sends the program, unless the task has it under this epoch already. A worker compiles its functions and connects
  /// to the parameter servers; a parameter server creates its variables with their initial values. kPermissionDenied:
  /// the task has seen a newer epoch, so there is a newer coordinator. kFailedPrecondition: another task than name()
  /// answers at its address.
  void load_program(const PackedProgram& program, std::uint64_t epoch, Deadline deadline, Callback<void> done);

  /// Reads variables: a parameter server's, by the names that it has ("table/part_1" is a shard), or a worker's own.
  /// `may_lend`: as Message::may_lend says.
  void read(const std::vector<std::string>& variables, Deadline deadline, Callback<std::vector<tensor::Tensor>> done,
            bool may_lend = false);
  /// Assigns variables, all of them or none. `may_lend`: as Message::may_lend says.
  void assign(const std::string& variable, const tensor::Tensor& value, Deadline deadline, Callback<void> done);
  void assign(const tensor::NamedTensors& values, Deadline deadline, Callback<void> done, bool may_lend = false);

  /// Asks the coordination service of the run that this client speaks for, or of the task's process. Errors:
  /// kFailedPrecondition, kInvalidArgument, kResourceExhausted as CoordinationClient has them.
  void coordinate(const CoordinationRequest& request, Deadline deadline, Callback<CoordinationAnswer> done,
                  CoordinationScope scope = CoordinationScope::kRun);
  /// Asks for the task's status. It answers anybody at once, however busy it is, and changes nothing.
  void status(Deadline deadline, Callback<TaskStatus> done);
  /// Ends the task: it answers, then exits 0. kPermissionDenied, and the task continues, if it has a run other than
  /// this epoch's (0: none) whose coordinator still answers, or a newer one.
  void shutdown(std::uint64_t epoch, Deadline deadline, Callback<void> done);

 protected:
  void load(const PackedProgram& program, std::uint64_t epoch, Deadline deadline,
            std::function<void(int replicas)> on_replicas, Callback<void> done, const WorkerOrders& orders);
  transport::Endpoint& endpoint() const { return endpoint_; }

 private:
  void bring(const PackedProgram& program, std::uint64_t epoch, Deadline deadline, std::function<void()> then,
             Callback<void> failed) const;

  transport::Endpoint& endpoint_;
  transport::PeerId peer_;
  std::string name_;
  using Epoch = std::atomic<std::uint64_t>;
  std::shared_ptr<Epoch> epoch_ = std::make_shared<Epoch>(0);  // shared by all copies
};

}  // namespace tfd::task
