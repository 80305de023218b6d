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
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tfd/base/deadline.hpp"
#include "tfd/base/error.hpp"
#include "tfd/cluster/task_id.hpp"
#include "tfd/task/coordination.hpp"
#include "tfd/task/packed_program.hpp"
#include "tfd/tensor/tensor.hpp"
#include "tfd/transport/endpoint.hpp"

namespace tfd::task {

/// A task's part in a group that makes steps together.
struct MembershipStatus {
  std::int64_t step = 0;
  std::uint64_t generation = 0;
  int first_replica = 0, own_replicas = 0, replicas = 0;  // its own, and the training's
  /// How long each other member was waited for in a step while only it was missing, in microseconds: the median of the
  /// last steps, as this member saw it.
  std::vector<std::pair<std::string, std::int64_t>> late = {};
};

struct TaskStatus {
  cluster::TaskId task;
  transport::Incarnation incarnation = 0;
  std::int64_t uptime_ms = 0;
  std::uint64_t closures_done = 0;
  std::uint64_t closures_waiting = 0;
  std::uint64_t variables = 0;
  std::uint64_t variable_bytes = 0;
  std::uint64_t epoch = 0;  // of the loaded program; 0: none is loaded
  std::string host = {};
  std::int64_t pid = 0;
  std::uint64_t memory_bytes = 0;         // resident
  std::string doing = {};                 // the function that it runs, "(the program)" while it loads one, or nothing
  std::int64_t doing_ms = 0;              // how long it has been doing so
  std::string waits_for = {};             // "ps:1", "closures", "a coordinator"; empty while it computes
  std::vector<std::string> devices = {};  // a worker's, once it has loaded its plug-in
  std::string program = {};               // path of the loaded program
  int replicas = 1;                       // number that a worker runs
  std::int64_t idle_ms = 0;               // time time since it last worked on its program; 0 while it does
  bool is_abandoned = false;              // it works for a coordinator that is gone, or fenced
  std::optional<MembershipStatus> group = {};
  std::string training = {};         // where the run's training is, as one JSON object, where this task has been told
  std::int64_t training_age_ms = 0;  // how long ago it was told
  std::string log = {};              // path, on its host, of the file with what it has written; empty: none
};

/// Settings of one worker: of the program's own datasets, and of updates.
struct WorkerOrders {
  std::uint64_t shuffle_stream = 0;  // data::Order's, for datasets that are this worker's own
  /// Seed of shuffles that state none: one for all workers where the data are sharded dynamically
  /// ("distribute": "dynamic"); for each of the worker's own datasets otherwise, where it isn't 0.
  std::uint64_t data_seed = 0;
  /// The steps whose elements the worker skips, where a training continues.
  std::int64_t steps_taken = 0;
  /// Whether updates are only staged, for the coordinator to commit: ClosureOutcome::staged_on.
  bool stages = false;
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
