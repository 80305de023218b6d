#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// ClusterCoordinator: schedules functions of a program on the workers of a cluster, variables on its parameter servers.
// Closures of a worker that fails are migrated; the worker is used again, its iterators rebuilt, when it returns. After
// the loss of a parameter server every call fails with kUnavailable, with Error::task set. Source:
// tf.distribute.coordinator.ClusterCoordinator, 2.21. Thread rule: thread-safe; one thread of the caller blocks in
// schedule(), join() and fetch().
//
//   auto coordinator = TFD_TRY(ClusterCoordinator::connect(program, config, options));
//   RemoteValue value = TFD_TRY(coordinator->schedule({.function = "worker_fn", .args = {iterator}}));
//   TFD_TRY(coordinator->join(Deadline::after(60s)));
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "tfd/base/deadline.hpp"
#include "tfd/base/error.hpp"
#include "tfd/base/log.hpp"
#include "tfd/cluster/cluster_config.hpp"
#include "tfd/coordinator/closure_queue.hpp"
#include "tfd/coordinator/failures.hpp"
#include "tfd/program/program.hpp"
#include "tfd/task/placement.hpp"
#include "tfd/task/worker_client.hpp"
#include "tfd/train/train_loop.hpp"
#include "tfd/transport/endpoint.hpp"

namespace tfd::coordinator {

/// A dataset on every worker: as an argument it is the executing worker's own iterator. The iterators live as long as a
/// copy of this, an unfinished closure with it as an argument, or one of their values_on_workers(); then workers drop
/// them, and a returning worker doesn't recreate them.
struct PerWorkerDataset {
  std::string id;  // unique among all coordinators
  /// Shared with all of these; dropping the last ends the iterators on the workers.
  std::shared_ptr<const void> hold = {};
};
/// A variable with `per_worker`: as an argument it is the executing worker's own value.
struct PerWorkerVariable {
  std::string name;
};
using Argument = std::variant<tensor::Tensor, PerWorkerDataset, PerWorkerVariable>;

/// kAborted: the resource was lost with its worker; it may become ready again. Only for resources on workers: a
/// closure's value is transferred here before it is ready, and kept.
enum class ClosureState { kNotReady, kReady, kError, kCancelled, kAborted };

/// Future result of a scheduled function. Copies share it. Thread-safe.
class RemoteValue {
 public:
  struct Shared;
  explicit RemoteValue(std::shared_ptr<Shared> shared) : shared_(std::move(shared)) {}
  ClosureState state() const;
  ClosureId id() const;
  /// Waits until it is no longer kNotReady. The function's Error; kCancelled (also for kAborted: schedule it again);
  /// kDeadlineExceeded names whom it waits for.
  Result<task::ClosureOutcome> fetch(Deadline deadline) const;
  /// The value without copying; only if state() is kReady; valid as long as this RemoteValue.
  const task::ClosureOutcome& outcome() const;
  /// The error; only if state() is kError, kCancelled or kAborted.
  const Error& error() const;
  /// The closure whose error canceled this one, if it was canceled.
  std::optional<ClosureId> cause() const;

 private:
  Result<task::ClosureOutcome> read_again(Deadline deadline) const;
  std::shared_ptr<Shared> shared_;  // shared with the coordinator, which fills it
};

/// Fetches all values of a structure, in its order, waiting for each. Returns the first Error in that order.
Result<std::vector<task::ClosureOutcome>> fetch(const std::vector<RemoteValue>& values, Deadline deadline);
Result<std::map<std::string, task::ClosureOutcome>> fetch(const std::map<std::string, RemoteValue>& values,
                                                          Deadline deadline);

struct Call {
  std::string function;
  std::vector<Argument> args = {};
  std::vector<std::pair<std::string, Argument>> kwargs = {};
  /// Value of inputs bound to "step", which also selects the random numbers of those bound to "rng". Absent: 0, and the
  /// closure's.
  std::optional<std::int64_t> step = {};
  /// With kEach: the number of replicas that take an element; the others have none. 0: all.
  int most_elements = 0;
  /// Replicas of the worker: kEach and kSplit run it on all of them (strategy.run() within the function), and results
  /// are stacked.
  program::Replicas replicas = program::Replicas::kOne;
  /// Called once when the value is there or never will be, in completion order, on the I/O thread (so it must not
  /// block). join() may return a moment before.
  std::function<void(const RemoteValue&)> on_done = {};
  /// Replaces the function, for a coordinator with CoordinatorOptions::commands.
  std::optional<task::ShellCommand> command = {};
  /// Called on the I/O thread when its worker was lost, with the worker's name and the reason: it is rescheduled.
  std::function<void(const std::string& task, const std::string& reason)> on_moved = {};
  /// Sequence number of an AdoptedRun's step. Parameter servers that have applied it drop it.
  std::optional<std::uint64_t> sequence = {};
  std::string label = {};  // its name in messages, such as "line 7"; empty: "closure" and its number
};

/// Checks that the program has the function and that it takes these arguments, as schedule() does first.
Result<void> check_call(const program::Program& program, const Call& call);
/// Checks that the program has the function and that it can be an evaluation (program::check_evaluation), as evaluate()
/// does first.
Result<void> check_evaluation(const program::Program& program, const std::string& function,
                              std::optional<std::int64_t> steps);

/// Checks ParameterServerStrategy's requirements on a cluster, in its order: any tasks, valid roles
/// (tfd/cluster/roles.hpp), a ps unless `needs_ps` is false, a worker. kInvalidArgument. Source:
/// ParameterServerStrategyV2._verify_args_and_config.
Result<void> check_cluster(const cluster::ClusterConfig& config, bool needs_ps = true);

/// Names of workers ("worker:1") that joined, left or moved.
struct MembershipChange {
  std::vector<std::string> joined;
  std::vector<std::string> left;
  std::vector<std::string> moved;  // to another address
};

/// The coordinator's distribution strategy. Source: ParameterServerStrategyV2.
struct ParameterServerStrategyV2 {
  cluster::ClusterConfig cluster_resolver;  // as last set by change_cluster()
  int num_replicas_in_sync = 1;
  task::Placement placement;  // variables on parameter servers: round-robin, in the program's order
};

/// A training on the parameter servers whose coordinator is gone.
struct Adoption {
  std::string run;        // the id of its checkpoints
  std::int64_t from = 0;  // it is adopted only if it has reached this step
};
struct AdoptedRun {
  struct Unfinished {
    std::uint64_t sequence;  // Call::sequence
    std::int64_t step;       // Call::step
  };
  std::int64_t step = 0;                    // number of steps begun, without void ones
  std::vector<Unfinished> unfinished = {};  // steps among these that not all parameter servers have applied
};

/// A worker's execution of a closure, from the coordinator's view: from the call to its answer.
struct WorkerRun {
  const std::string& task;
  const std::string& function;  // empty for a shell command
  std::uint64_t closure = 0;    // its number
  Clock::time_point sent, answered;
};

/// Position of a worker in its own data of steps. It restarts them, in another order, whenever it returns.
struct DataProgress {
  std::int64_t steps = 0;     // steps that it has made since
  std::uint64_t returns = 0;  // number of its returns
  friend bool operator==(const DataProgress&, const DataProgress&) = default;
};
struct DataPositions {
  std::map<std::string, DataProgress> of = {};  // by worker; an unnamed one starts from the beginning
  std::int64_t shared_steps = 0;                // steps made by unknown workers: shared equally among all
};

struct CoordinatorOptions {
  transport::EndpointFactory make_endpoint = transport::make_zmq_endpoint;
  Duration connect_timeout = std::chrono::seconds(30);
  std::stop_token stop = {};  // ends connecting with kCancelled
  std::size_t queue_capacity = ClosureQueue::kDefaultCapacity;
  std::size_t window = 64;  // limit on closures that a worker holds at a time; fewer if they take long
  /// Time without an answer of a worker until its waiting closures are moved to idle workers.
  Duration balance_after = std::chrono::milliseconds(50);
  /// Updates are of one attempt of a closure on all parameter servers, and its results are that attempt's: workers
  /// stage updates, and the coordinator commits those of the first attempt that has them on all servers. States are
  /// exported between commits. Without it each server applies the updates of a closure once, maybe of another attempt
  /// each.
  bool strict = false;
  bool keep_going = false;
  bool keep_servers = false;
  /// Time that a parameter server may be silent or disconnected before it is lost; it is lost at once if its process is
  /// known to have ended.
  Duration rejoin = std::chrono::seconds(30);
  /// Takes the cluster from another coordinator that holds it and answers; else kPermissionDenied names that one.
  bool take_over = false;
  /// The training that this coordinator runs, which has checkpoints. If all parameter servers have it, with the same
  /// program and unfinished, it is continued from their state: see ClusterCoordinator::adopted().
  std::optional<Adoption> adopt = {};
  /// Data positions of a continued training.
  DataPositions data = {};
  /// True: as in TensorFlow, a shuffle with a stated seed has the same order on every worker, in every run. Else
  /// workers have orders of their own, by their index, and another one whenever they return.
  bool same_shuffles = false;
  /// Seed of shuffles that state none, as in task::WorkerOrders: the same when a run is continued.
  std::uint64_t data_seed = 0;
  /// A closure that was executing on a worker that died, this many times, fails with kAborted; 0: it is retried
  /// forever, as in TensorFlow. The log names such a closure after the third time.
  int max_losses = 0;
  Duration stall_after = std::chrono::seconds(10);                // without progress, until a stall is logged
  std::function<void(const train::WorkerEvent&)> on_worker = {};  // on the I/O thread
  std::function<void(const WorkerRun&)> on_ran = {};              // on the I/O thread, for closures that ended
  /// For shell commands: workers get a session (epoch and generation are filled in) instead of the program, and
  /// parameter servers aren't used. At the end running commands are killed; tasks are not told to stop.
  std::optional<task::CommandSession> commands = {};
  bool commands_ahead = true;  // else a worker holds only running commands
  /// TensorFlow's handling of failing parameter servers: workers' reports count, except the first few. Absent: a server
  /// whose process ended is lost at once, a silent one after `rejoin`, and one that only a worker can't reach isn't
  /// lost.
  std::optional<TransientLimits> transient = {};
  Log log = {};
};

class ClusterCoordinator {
 public:
  /// Tells the tasks to stop; not with keep_servers, not after a parameter server was lost (the rest is left to the
  /// next coordinator), not if a task refused this one (it may belong to a newer one by now).
  virtual ~ClusterCoordinator() = default;

  /// Connects to every ps and worker of the spec and gives them the program. Waits for all ps and at least one worker.
  /// kInvalidArgument: no worker or no ps (when the program has variables) in the spec. kDeadlineExceeded names the
  /// missing.
  static Result<std::unique_ptr<ClusterCoordinator>> connect(const program::Program& program,
                                                             const cluster::ClusterConfig& config,
                                                             CoordinatorOptions options);

  /// Blocks only while the queue is full. kInvalidArgument for an unknown function or arguments that don't fit, without
  /// scheduling anything. Raises a pending error as join() does (and the call given here is canceled with the rest).
  virtual Result<RemoteValue> schedule(Call call, Deadline deadline = Deadline::never()) = 0;
  /// Blocks until no closure is queued or in flight. The first error of a closure is returned once; closures that
  /// hadn't run are canceled.
  virtual Result<void> join(Deadline deadline) = 0;
  /// True when nothing is queued or in flight; returns errors as join() does.
  virtual Result<bool> done() = 0;

  /// Creates an iterator over the whole dataset on every worker; see CoordinatorOptions::same_shuffles.
  virtual Result<PerWorkerDataset> create_per_worker_dataset(const std::string& dataset, Deadline deadline) = 0;
  virtual Result<tensor::Tensor> read(const std::string& variable, Deadline deadline) = 0;
  /// Reads rows of a table, [n, …], by their ids (s32 or s64, of rank 1); only these are transferred. kInvalidArgument
  /// names an id out of range.
  virtual Result<tensor::Tensor> read_rows(const std::string& variable, const tensor::Tensor& rows,
                                           Deadline deadline) = 0;
  /// Assigns a variable; with `per_worker` on every connected worker: one that returns begins with the initial value.
  virtual Result<void> assign(const std::string& variable, const tensor::Tensor& value, Deadline deadline) = 0;
  /// Assigns `values`, [n, …], to rows of a table by their ids (s32 or s64, of rank 1); the last one of a repeated id
  /// counts. kInvalidArgument as read_rows(), and for values of another shape or dtype.
  virtual Result<void> assign_rows(const std::string& variable, const tensor::Tensor& rows,
                                   const tensor::Tensor& values, Deadline deadline) = 0;
  /// Every worker's own resource, in the workers' order: for a variable with `per_worker` (by its name) its value, read
  /// anew by every fetch(); for a dataset (by its id) no value. kReady, or kAborted while the worker is away: it is
  /// recreated when the worker returns. kNotFound. Source: PerWorkerValues, RemoteValue of resources;
  /// PerWorkerVariable.
  virtual Result<std::vector<RemoteValue>> values_on_workers(const std::string& name) = 0;
  /// Evaluates one full pass over the function's dataset (or its first `steps` elements), split over the connected
  /// workers; exact even if workers die or the data are shuffled: all use the order of one seed that is drawn here.
  /// Random inputs depend on each element's number in the pass. One evaluation at a time: a second one waits for the
  /// first. Closures that run meanwhile may change variables between its parts. kInvalidArgument as check_evaluation();
  /// kCancelled after stop_evaluating().
  virtual Result<std::vector<std::pair<std::string, double>>> evaluate(const std::string& function,
                                                                       std::optional<std::int64_t> steps,
                                                                       Deadline deadline) = 0;
  /// Cancels the running and all later evaluations with kCancelled.
  virtual void stop_evaluating() = 0;
  /// Exports the variables, slots and counters of all parameter servers; partitioned ones are joined, so that another
  /// number of parameter servers can import them.
  virtual Result<tensor::NamedTensors> export_state(Deadline deadline) = 0;
  /// Takes a snapshot of the same, which closures may change at once. The returned function has each parameter server
  /// write its own part of it (variable::save_checkpoint_in_parts()); it is called once or not at all, on any thread,
  /// while this exists. All must see `directory`, which they are asked the first time; files of a probe are `run`'s.
  /// kFailedPrecondition, kUnimplemented: the servers can't write there, and why; the errors of the system: it can't be
  /// found out now.
  virtual Result<variable::WriteParts> begin_writing(const std::string& directory, const std::string& run,
                                                     Deadline deadline) = 0;
  /// Tells the parameter servers that what they write is waited for: until then they give way to all other work.
  virtual void hurry_writing() = 0;
  virtual Result<void> import_state(const tensor::NamedTensors& state, Deadline deadline) = 0;
  /// Replaces every variable by its average, at the end of a training with "use_ema".
  virtual Result<void> use_averages(Deadline deadline) = 0;

  /// The loss of a parameter server, which has ended everything; nullopt while there is none.
  virtual std::optional<Error> lost() const = 0;
  /// Changes the cluster: workers join (and get program and iterators before closures), leave (their closures are
  /// migrated) and move. kFailedPrecondition, without any change, if a parameter server joined, left or moved:
  /// variables stay where they were created. kInvalidArgument as check_cluster().
  virtual Result<MembershipChange> change_cluster(const cluster::ClusterConfig& config) = 0;
  /// Cancels closures that no worker has yet (ClosureState::kCancelled); running ones continue.
  virtual void drop_queued() = 0;
  /// Number of closures that the connected workers hold at a time.
  virtual std::size_t windows() const = 0;
  virtual std::size_t queued() const = 0;
  virtual std::size_t in_flight() const = 0;
  virtual int workers_up() const = 0;
  /// Workers of the newest cluster spec, whether they are up or not.
  virtual int workers_expected() const = 0;
  /// Replicas of one worker, one per device. All workers have the same number: connect() fails with kInvalidArgument
  /// otherwise (or a later call, if the worker that differs is slow), and a worker that joins with another number isn't
  /// used.
  virtual int num_replicas_in_sync() const = 0;
  /// The current strategy.
  virtual ParameterServerStrategyV2 strategy() const = 0;
  /// The training that CoordinatorOptions::adopt has found: its variables are kept, and its unfinished steps come
  /// first. nullopt: the variables have their initial values.
  virtual const std::optional<AdoptedRun>& adopted() const = 0;
  /// Data positions of every worker of the spec, after the steps that have ended.
  virtual std::map<std::string, DataProgress> data_progress() const = 0;
  /// Allows the next coordinator to adopt this run, until forget_run(). `first_step` was its step before its first
  /// closure, and every closure since that updates variables is a step. Only with CoordinatorOptions::adopt.
  virtual Result<void> record_run(std::int64_t first_step) = 0;
  /// Ends that: the run is complete, or its variables will be changed other than by steps.
  virtual Result<void> forget_run() = 0;
  /// Leaves this text about the training, one JSON object, at the first parameter server, whose status has it
  /// (tfd-status). Doesn't wait for the answer; lost where that server is lost.
  virtual void show_training(const std::string& standing) = 0;
  /// Tells every task to stop and waits for their answers, also of tasks that haven't come yet or are lost, which are
  /// told when they connect. kDeadlineExceeded names those that didn't answer.
  virtual Result<void> shutdown_tasks(Deadline deadline) = 0;
};

/// Tells every worker and ps of the spec to stop, without loading a program, when nothing is left to do. If one works
/// for another run none is stopped: kFailedPrecondition names it. kDeadlineExceeded names those that didn't answer.
Result<void> say_goodbye(const cluster::ClusterConfig& config, const transport::EndpointFactory& make_endpoint,
                         Deadline deadline);

}  // namespace tfd::coordinator
