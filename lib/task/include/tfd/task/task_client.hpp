#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// What a coordinator (or a worker, of its parameter servers) asks of tasks: the client half of the task protocol.
// Thread rule: thread-safe; callbacks run on the endpoint's I/O thread and must not block.
#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "tfd/base/deadline.hpp"
#include "tfd/base/error.hpp"
#include "tfd/cluster/task_id.hpp"
#include "tfd/program/program.hpp"
#include "tfd/step/call.hpp"
#include "tfd/step/replica_copies.hpp"
#include "tfd/task/coordination.hpp"
#include "tfd/task/epoch.hpp"
#include "tfd/task/packed_program.hpp"
#include "tfd/task/shell_command.hpp"
#include "tfd/tensor/tensor.hpp"
#include "tfd/transport/endpoint.hpp"
#include "tfd/variable/placement.hpp"
#include "tfd/variable/store.hpp"

namespace tfd::task {

/// Of the program's own datasets on a worker.
struct WorkerOrders {
  std::uint64_t shuffle_stream = 0;  // as data::Order has it: of those that are this worker's own
  /// Of shuffles that state no seed: one for all workers where datasets are handed out ("distribute": "dynamic"), one
  /// for each of those that are its own otherwise, where it isn't 0.
  std::uint64_t data_seed = 0;
  /// The elements of so many steps of its own are passed over, where a training goes on.
  std::int64_t steps_taken = 0;
};

/// Sequence numbers from here on are of calls without updates: they need no place among those that parameter servers
/// remember, who like them dense.
inline constexpr std::uint64_t kWithoutUpdates = std::uint64_t{1} << 63;

/// What a parameter server says of the updates of a closure.
struct UpdateAnswer {
  bool is_new = false;   // applied; else this sequence number had been
  bool is_busy = false;  // not applied: an update is due and has to be made before (make_due())
  bool is_due = false;   // there is such a one among its variables
};

/// What a worker answers to a call.
struct ClosureOutcome : step::CallOutcome {
  std::shared_ptr<const CommandOutcome> command = {};  // of a shell command, which has nothing else; immutable
  bool dropped = false;  // drop_waiting() or give_back() came before it was begun: there is nothing else
};

struct TaskStatus {
  cluster::TaskId task;
  transport::Incarnation incarnation = 0;
  std::int64_t uptime_ms = 0;
  std::uint64_t closures_done = 0;
  std::uint64_t closures_waiting = 0;
  std::uint64_t variables = 0;
  std::uint64_t variable_bytes = 0;
  std::uint64_t epoch = 0;  // of the program it holds; 0: none
  std::string host = {};
  std::int64_t pid = 0;
  std::uint64_t memory_bytes = 0;  // resident
  std::string doing = {};          // the function that it runs, or "(the program)" while it is loaded; or nothing
  std::int64_t doing_ms = 0;       // for how long
  std::string waits_for = {};      // "ps:1", "closures", "a coordinator"; empty while it computes
  std::vector<std::string> devices = {};  // of a worker that has loaded its plug-in
  std::string program = {};               // the path of the one it holds
  int replicas = 1;                       // of a worker: how many it runs
  std::int64_t idle_ms = 0;               // since it did something of its program; 0 while it does
  bool is_abandoned = false;              // what it does is for a coordinator that is gone, or fenced off
};

/// Which parameter server holds which variable, and where they are: sent to every task with the program.
struct Placement {
  std::vector<std::pair<std::string, std::string>> ps;     // ("ps:0", "127.0.0.1:4123"), ascending
  std::map<std::string, int> variables;                    // name -> position in `ps`, of its first shard
  std::map<std::string, variable::PlacedVariable> placed;  // all shards of each; see sharded_state.hpp
};
/// Round-robin in creation order, shard after shard; colocated variables beside the other. All copies of a variable lie
/// where it would, in its place.
Placement place_variables(const program::Program& program, std::vector<std::pair<std::string, std::string>> ps,
                          const step::ReplicaCopies& copies = {});

/// What a parameter server has in an export: what VariableStore::export_state() names, without the values.
struct StateEntry {
  std::string name;
  tensor::TensorSpec spec;
};
struct ExportedState {
  std::uint64_t id = 0;  // of this export, on the connection that began it
  std::vector<StateEntry> entries;
};
/// How much of a state moves in one message; a larger tensor moves alone.
inline constexpr std::uint64_t kStatePartBytes = std::uint64_t{64} << 20;

class TaskClient {
 public:
  template <class T>
  using Callback = std::function<void(Result<T>)>;

  TaskClient(transport::Endpoint& endpoint, transport::PeerId peer, std::string name)
      : endpoint_(endpoint), peer_(peer), name_(std::move(name)) {}
  transport::PeerId peer() const { return peer_; }
  const std::string& name() const { return name_; }
  /// Whose run requests are about that aren't told an epoch, from now on, of all copies of this client. Whoever loads a
  /// program speaks for it. A task refuses what is about another run than its own: kPermissionDenied, or kUnavailable
  /// where it has none.
  void set_epoch(std::uint64_t epoch) { *epoch_ = epoch; }
  std::uint64_t epoch() const { return *epoch_; }

  /// Of parameter server 0: an epoch. kPermissionDenied: another coordinator has the cluster, and answers; the message
  /// says which.
  void claim(const Claim& claim, Deadline deadline, Callback<std::uint64_t> done);

  /// Gives the task the program, unless it has that of this epoch already. A worker compiles its functions and connects
  /// to the parameter servers; a parameter server makes its variables, with their initial values.
  /// An older epoch than the task has seen is kPermissionDenied: a newer coordinator is there. kFailedPrecondition
  /// where another task than name() answers at its address.
  void load_program(const PackedProgram& program, std::uint64_t epoch, Deadline deadline, Callback<void> done);
  /// The same of a worker. `on_replicas` is told at once how many it runs, one on each of its devices; compiling takes
  /// longer. `orders` are those of iterators of the program's own datasets that it makes from now on.
  void load_worker(const PackedProgram& program, std::uint64_t epoch, Deadline deadline,
                   std::function<void(int replicas)> on_replicas, Callback<void> done, const WorkerOrders& orders = {});

  // Shell commands, on workers that allow them (kPermissionDenied elsewhere). Opens a session, or renews it; answered
  // with how many commands the worker runs at a time.
  void open_session(const CommandSession& session, Deadline deadline, Callback<int> done);
  /// kCancelled where the worker ended it, or knows no such session (any more).
  void run_command(std::uint64_t epoch, const ShellCommand& command, Deadline deadline, Callback<CommandOutcome> done);
  /// Kills what runs; answered when nothing does.
  void end_session(std::uint64_t epoch, Deadline deadline, Callback<void> done);

  // Workers.
  /// Makes it anew where it is there already; `shuffle_stream` as data::Order has it.
  void create_iterator(const std::string& id, const std::string& dataset, Deadline deadline, Callback<void> done,
                       std::uint64_t shuffle_stream = 0);
  void drop_iterator(const std::string& id, Deadline deadline, Callback<void> done);
  /// kOutOfRange at the end of an iterator's data. The function's own errors have the task set. kUnavailable: this
  /// worker is gone; when Error::task is a ps ("ps:1"), that parameter server is.
  void run(const step::FunctionCall& call, Deadline deadline, Callback<ClosureOutcome> done);
  /// Of calls with a sequence number below `updates_below` (from kWithoutUpdates on: below `others_below`) those that
  /// the worker hasn't begun, or that come later, are answered as dropped: each call is either run or dropped.
  void drop_waiting(std::uint64_t epoch, std::uint64_t updates_below, std::uint64_t others_below, Deadline deadline,
                    Callback<void> done);
  /// Of what this worker hasn't begun (calls, or the commands of a session) at most `count`, those that came last, are
  /// answered as dropped, for others to run.
  void give_back(std::uint64_t epoch, std::uint64_t count, bool commands, Deadline deadline, Callback<void> done);
  /// Of one pass over the function's dataset (or its first `steps` elements) those with number index, index + count, …;
  /// variables read once. Shuffles that state no seed have theirs from `seed`, so that all parts with the same one are
  /// cut from one order. Idempotent: a lost part is run again elsewhere, on the same elements. A function without a
  /// dataset runs once, in part 0.
  void evaluate(const std::string& function, std::int64_t count, std::int64_t index, std::optional<std::int64_t> steps,
                std::uint64_t epoch, std::uint64_t seed, Deadline deadline, Callback<std::vector<step::Metric>> done);

  // Parameter servers; read() and assign() of workers too, for the variables that each has of its own.
  // Names are those that it has: of a shard "table/part_1".
  void read(const std::vector<std::string>& variables, Deadline deadline, Callback<std::vector<tensor::Tensor>> done);
  /// Only these rows of each: (name, indices). kOutOfRange, kInvalidArgument.
  void read_rows(const std::vector<std::pair<std::string, tensor::Tensor>>& rows, Deadline deadline,
                 Callback<std::vector<tensor::Tensor>> done);
  /// All updates of one closure to this parameter server, at once. Every client counts its own sequence; 0 is the
  /// coordinator and its workers. `is_alone`: all gradients of the closure are among these.
  void update(std::uint64_t sequence, const std::vector<variable::Update>& updates, Deadline deadline,
              Callback<UpdateAnswer> done, std::uint64_t client = 0, bool is_alone = false);
  /// Where those of these variables stand that share a norm with others; without names those of all.
  void find_due(const std::vector<std::string>& variables, Deadline deadline,
                Callback<std::vector<variable::DueUpdate>> done);
  /// Those of these updates that haven't been made since.
  void make_due(const std::vector<variable::DueUpdate>& updates, Deadline deadline, Callback<void> done);
  /// Of a closure that comes to nothing, or was tried before: updates of this sequence that still come are dropped.
  void fence(std::uint64_t epoch, std::uint64_t sequence, Deadline deadline, Callback<void> done);
  /// Nothing below `below` will be sent any more, and what still comes is late: the parameter server needn't remember
  /// which of them it had. So many of them came to nothing.
  void settle(std::uint64_t epoch, std::uint64_t below, std::uint64_t unused, Deadline deadline, Callback<void> done);
  /// The run of epoch `from` goes on as `epoch`, with its variables and its sequence numbers as they are; what is of
  /// `from` is refused from now on. kFailedPrecondition: it has another one, or is being given one.
  void adopt(std::uint64_t from, std::uint64_t epoch, Deadline deadline, Callback<variable::SequenceHistory> done);
  void assign(const std::string& variable, const tensor::Tensor& value, Deadline deadline, Callback<void> done);
  void assign(const std::vector<std::pair<std::string, tensor::Tensor>>& values, Deadline deadline,
              Callback<void> done);
  /// Of tables: (name, indices, values), the rows `indices` become `values`. All of it, or nothing. kOutOfRange,
  /// kInvalidArgument.
  void assign_rows(const std::vector<variable::Update>& rows, Deadline deadline, Callback<void> done);
  /// At the end of training: VariableStore::use_averages().
  void use_averages(Deadline deadline, Callback<void> done);
  /// The whole state of one moment, however long it takes to get here: in parts of about so many bytes, two at a time.
  /// kAborted: the parameter server gave the export up.
  void export_state(Deadline deadline, Callback<std::vector<std::pair<std::string, tensor::Tensor>>> done,
                    std::uint64_t part_bytes = kStatePartBytes);
  /// The same in the other direction; all of it becomes the state at once, or nothing does. Errors of
  /// VariableStore::import_state(); kAborted: the parameter server gave it up, or has another program by now.
  void import_state(const std::vector<std::pair<std::string, tensor::Tensor>>& state, Deadline deadline,
                    Callback<void> done, std::uint64_t part_bytes = kStatePartBytes);
  // The steps of these. What was begun ends with end_state(), with the connection, or when nobody asks for ten minutes.
  void begin_export(Deadline deadline, Callback<ExportedState> done);
  /// A value for each of these positions in ExportedState::entries.
  void export_part(std::uint64_t id, const std::vector<std::uint32_t>& positions, Deadline deadline,
                   Callback<std::vector<tensor::Tensor>> done);
  void begin_import(Deadline deadline, Callback<std::uint64_t> done);
  void import_part(std::uint64_t id, const std::vector<std::pair<std::string, tensor::Tensor>>& values,
                   Deadline deadline, Callback<void> done);
  void commit_import(std::uint64_t id, Deadline deadline, Callback<void> done);
  void end_state(std::uint64_t id, Deadline deadline, Callback<void> done);

  // All.
  /// Of the coordination service, in the run that this client speaks for, or in the task's process.
  /// kFailedPrecondition, kInvalidArgument, kResourceExhausted as CoordinationClient has them.
  void coordinate(const CoordinationRequest& request, Deadline deadline, Callback<CoordinationAnswer> done,
                  CoordinationScope scope = CoordinationScope::kRun);
  /// Answered at once, however busy the task is, to anybody, and changes nothing.
  void status(Deadline deadline, Callback<TaskStatus> done);
  /// Ends the task: it answers, then exits 0. kPermissionDenied, and it goes on, where it has another run than that of
  /// this epoch (0: none) and whoever has that still answers, or where its run is a newer one.
  void shutdown(std::uint64_t epoch, Deadline deadline, Callback<void> done);

 private:
  void load(const PackedProgram& program, std::uint64_t epoch, Deadline deadline,
            std::function<void(int replicas)> on_replicas, Callback<void> done, const WorkerOrders& orders);
  void bring(const PackedProgram& program, std::uint64_t epoch, Deadline deadline, std::function<void()> then,
             Callback<void> failed) const;

  transport::Endpoint& endpoint_;
  transport::PeerId peer_;
  std::string name_;
  using Epoch = std::atomic<std::uint64_t>;
  std::shared_ptr<Epoch> epoch_ = std::make_shared<Epoch>(0);  // of all copies
};

}  // namespace tfd::task
