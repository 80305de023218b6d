#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// ClusterCoordinator: schedules functions of a program on the workers of a cluster, variables on its parameter servers.
// Closures of a worker that fails are migrated; the worker is used again, its iterators rebuilt, when it returns. A
// lost parameter server is kUnavailable, with Error::task set, from everything that follows.
// Source: tf.distribute.coordinator.ClusterCoordinator, 2.21.
// Thread rule: thread-safe; one thread of the caller blocks in schedule(), join() and fetch().
//
//   auto coordinator = TFD_TRY(ClusterCoordinator::connect(program, config, options));
//   RemoteValue value = TFD_TRY(coordinator->schedule({.function = "worker_fn", .args = {iterator}}));
//   TFD_TRY(coordinator->join(Deadline::after(60s)));
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
#include "tfd/base/log.hpp"
#include "tfd/cluster/cluster_config.hpp"
#include "tfd/coordinator/closure_queue.hpp"
#include "tfd/coordinator/failures.hpp"
#include "tfd/program/program.hpp"
#include "tfd/task/placement.hpp"
#include "tfd/task/task_server.hpp"
#include "tfd/task/worker_client.hpp"
#include "tfd/train/train_loop.hpp"

namespace tfd::coordinator {

/// A dataset on every worker: passed as an argument it is the executing worker's own iterator. The iterators live as
/// long as a copy of this, a closure that has one as an argument and hasn't ended, or one of their values_on_workers();
/// then workers drop them, and one that returns doesn't make them again.
struct PerWorkerDataset {
  std::string id;  // no other has it, of this coordinator or another
  /// Shared with those; ends what is on the workers.
  std::shared_ptr<const void> hold = {};
};
/// A variable with `per_worker`: passed as an argument it is the value of the executing worker's own.
struct PerWorkerVariable {
  std::string name;
};
using Argument = std::variant<tensor::Tensor, PerWorkerDataset, PerWorkerVariable>;

/// kAborted: what it stood for is gone with its worker; it may be ready again. Only of what lives on a worker: a
/// closure's value is sent here before it is ready, and stays.
enum class ClosureState { kNotReady, kReady, kError, kCancelled, kAborted };

/// What a scheduled function will have returned. Copies share it. Thread-safe.
class RemoteValue {
 public:
  struct Shared;
  explicit RemoteValue(std::shared_ptr<Shared> shared) : shared_(std::move(shared)) {}
  ClosureState state() const;
  ClosureId id() const;
  /// Waits until it is no longer kNotReady. The function's Error; kCancelled (also for kAborted: schedule it again);
  /// kDeadlineExceeded names whom it waits for.
  Result<task::ClosureOutcome> fetch(Deadline deadline) const;
  /// Without copying: only where state() is kReady; valid as long as this RemoteValue.
  const task::ClosureOutcome& outcome() const;
  /// Only where state() is kError, kCancelled or kAborted.
  const Error& error() const;
  /// Where it was cancelled: whose error did it.
  std::optional<ClosureId> cause() const;

 private:
  Result<task::ClosureOutcome> read_again(Deadline deadline) const;
  std::shared_ptr<Shared> shared_;  // with the coordinator, which fills it
};

/// All values of a structure, in its order, waiting for each. The first Error in that order.
Result<std::vector<task::ClosureOutcome>> fetch(const std::vector<RemoteValue>& values, Deadline deadline);
Result<std::map<std::string, task::ClosureOutcome>> fetch(const std::map<std::string, RemoteValue>& values,
                                                          Deadline deadline);

struct Call {
  std::string function;
  std::vector<Argument> args = {};
  std::vector<std::pair<std::string, Argument>> kwargs = {};
  /// What an input bound to "step" gets, and whose random numbers those bound to "rng". Absent: 0, and the closure's.
  std::optional<std::int64_t> step = {};
  /// Of replicas with kEach: so many take an element, the others have none. 0: all.
  int most_elements = 0;
  /// Of the worker: kEach and kSplit run it on all of them (strategy.run() within the function), results are stacked.
  program::Replicas replicas = program::Replicas::kOne;
  /// Called once when the value is there or never will be, in completion order, on the I/O thread (so it must not
  /// block). join() may return a moment before.
  std::function<void(const RemoteValue&)> on_done = {};
  /// Instead of a function, of a coordinator with CoordinatorOptions::commands.
  std::optional<task::ShellCommand> command = {};
  /// Called when the worker that had it was lost, with its name and why: it is run again elsewhere. On the I/O thread.
  std::function<void(const std::string& task, const std::string& reason)> on_moved = {};
  /// Of an AdoptedRun: its own number. What a parameter server has of it already is dropped there.
  std::optional<std::uint64_t> sequence = {};
  std::string label = {};  // what messages call it, as "line 7"; empty: "closure" and its number
};

/// Whether the program has such a function and takes these arguments: what schedule() checks before anything else.
Result<void> check_call(const program::Program& program, const Call& call);
/// Whether the program has such a function, and a pass of it is an evaluation (program::check_evaluation): what
/// evaluate() checks before anything else.
Result<void> check_evaluation(const program::Program& program, const std::string& function,
                              std::optional<std::int64_t> steps);

/// What ParameterServerStrategy asks of a cluster, in its order: tasks at all, valid roles (tfd/cluster/roles.hpp), a
/// ps unless `needs_ps` is false, a worker. kInvalidArgument. Source:
/// ParameterServerStrategyV2._verify_args_and_config.
Result<void> check_cluster(const cluster::ClusterConfig& config, bool needs_ps = true);

/// Names of workers, as "worker:1".
struct MembershipChange {
  std::vector<std::string> joined;
  std::vector<std::string> left;
  std::vector<std::string> moved;  // to another address
};

/// What a coordinator distributes by. Source: ParameterServerStrategyV2.
struct ParameterServerStrategyV2 {
  cluster::ClusterConfig cluster_resolver;  // as change_cluster() has left it
  int num_replicas_in_sync = 1;
  task::Placement placement;  // of variables on parameter servers: round-robin, in the order of the program
};

/// A training that stands on the parameter servers though its coordinator is gone.
struct Adoption {
  std::string run;        // the id of its checkpoints
  std::int64_t from = 0;  // it isn't wanted where it hasn't come as far as this step
};
struct AdoptedRun {
  struct Unfinished {
    std::uint64_t sequence;  // Call::sequence
    std::int64_t step;       // Call::step
  };
  std::int64_t step = 0;                    // so many were begun, those that came to nothing not counted
  std::vector<Unfinished> unfinished = {};  // of these: that not all parameter servers have
};

/// What a worker did for a closure, as seen from here: from the call to its answer.
struct WorkerRun {
  const std::string& task;
  const std::string& function;  // of a shell command empty
  std::uint64_t closure = 0;    // its number
  Clock::time_point sent, answered;
};

/// Where a worker's own data of steps stand. It begins with them, in another order, whenever it comes back.
struct DataProgress {
  std::int64_t steps = 0;     // that it has made since
  std::uint64_t returns = 0;  // how often it came back
  friend bool operator==(const DataProgress&, const DataProgress&) = default;
};
struct DataPositions {
  std::map<std::string, DataProgress> of = {};  // by worker; one that isn't named begins
  std::int64_t shared_steps = 0;                // made by nobody knows whom: each worker has its share of them
};

struct CoordinatorOptions {
  task::EndpointFactory make_endpoint = transport::make_zmq_endpoint;
  Duration connect_timeout = std::chrono::seconds(30);
  std::size_t queue_capacity = ClosureQueue::kDefaultCapacity;
  std::size_t window = 64;  // closures that a worker holds at a time, at most: less where they take long
  /// Of a worker's silence, until what waits there goes to those that have nothing to do.
  Duration balance_after = std::chrono::milliseconds(50);
  bool keep_going = false;
  bool keep_servers = false;
  /// How long a parameter server may be silent, or its connection broken, before it is lost, if nothing says that its
  /// process has ended; then it is lost at once.
  Duration rejoin = std::chrono::seconds(30);
  /// Takes the cluster from another coordinator that has it and answers; else kPermissionDenied says which.
  bool take_over = false;
  /// The training that this coordinator makes, which has checkpoints. If the parameter servers all have it, of the same
  /// program and unfinished, it goes on as it stands there: see ClusterCoordinator::adopted().
  std::optional<Adoption> adopt = {};
  /// Where the data of a training that goes on stand.
  DataPositions data = {};
  /// TensorFlow's way with a shuffle that states a seed: the same order on every worker, in every run. Else workers
  /// have orders of their own, by their index, and another one when they come back.
  bool same_shuffles = false;
  /// As task::WorkerOrders has it: the same where a run goes on.
  std::uint64_t data_seed = 0;
  /// A closure that was what a worker did when that died, so many times, fails with kAborted; 0: it is tried for ever,
  /// as in TensorFlow. The log names such a closure after the third time.
  int max_losses = 0;
  Duration stall_after = std::chrono::seconds(10);                // of silence, until the log says who waits for whom
  std::function<void(const train::WorkerEvent&)> on_worker = {};  // on the I/O thread
  std::function<void(const WorkerRun&)> on_ran = {};              // on the I/O thread, of closures that have ended
  /// For shell commands: workers get a session (epoch and generation are filled in) instead of the program, and
  /// parameter servers are left alone. At the end what still runs is killed; tasks are not told to stop.
  std::optional<task::CommandSession> commands = {};
  bool commands_ahead = true;  // else a worker has only commands that it runs
  /// TensorFlow's way with parameter servers that fail: what workers report of them counts, and so many reports don't.
  /// Absent: one that has ended is lost at once, one that is silent after `rejoin`, and one that only a worker can't
  /// reach is that worker's trouble.
  std::optional<TransientLimits> transient = {};
  Log log = {};
};

class ClusterCoordinator {
 public:
  /// Tells the tasks to stop; not with keep_servers, not after a parameter server was lost (what is left is for the
  /// next coordinator), not when a task refused this one (it may belong to a newer one by now).
  virtual ~ClusterCoordinator() = default;

  /// Connects to every ps and worker of the spec and gives them the program. Waits for all ps and at least one worker.
  /// kInvalidArgument: no worker or no ps (when the program has variables) in the spec. kDeadlineExceeded names the
  /// missing.
  static Result<std::unique_ptr<ClusterCoordinator>> connect(const program::Program& program,
                                                             const cluster::ClusterConfig& config,
                                                             CoordinatorOptions options);

  /// Blocks only while the queue is full. kInvalidArgument for an unknown function or arguments that don't fit, without
  /// scheduling anything. Raises a pending error as join() does (and the call given here is cancelled with the rest).
  virtual Result<RemoteValue> schedule(Call call, Deadline deadline = Deadline::never()) = 0;
  /// Until nothing is queued or in flight. The first error of a closure is returned once; what had not run is
  /// cancelled.
  virtual Result<void> join(Deadline deadline) = 0;
  /// True when nothing is queued or in flight; returns errors as join() does.
  virtual Result<bool> done() = 0;

  /// An iterator over the whole dataset on every worker; see CoordinatorOptions::same_shuffles.
  virtual Result<PerWorkerDataset> create_per_worker_dataset(const std::string& dataset, Deadline deadline) = 0;
  virtual Result<tensor::Tensor> read(const std::string& variable, Deadline deadline) = 0;
  /// Of a table: only the rows with these numbers (s32 or s64, of rank 1) move, [n, …]. kInvalidArgument names one that
  /// is no row.
  virtual Result<tensor::Tensor> read_rows(const std::string& variable, const tensor::Tensor& rows,
                                           Deadline deadline) = 0;
  /// Of a variable with `per_worker`: every worker's that is there; one that returns begins with the initial value.
  virtual Result<void> assign(const std::string& variable, const tensor::Tensor& value, Deadline deadline) = 0;
  /// Of a table: only the rows with these numbers (s32 or s64, of rank 1) become `values`, [n, …]; of a number that is
  /// there twice the last counts. kInvalidArgument as read_rows(), and for values of another shape or dtype.
  virtual Result<void> assign_rows(const std::string& variable, const tensor::Tensor& rows,
                                   const tensor::Tensor& values, Deadline deadline) = 0;
  /// What every worker has of its own, in their order: of a variable with `per_worker` (by its name) its value, read
  /// anew by every fetch(); of a dataset (by its id) nothing, as long as it is there. kReady, and kAborted while the
  /// worker is away: it is made again when it returns. kNotFound.
  /// Source: PerWorkerValues, RemoteValue of resources; PerWorkerVariable.
  virtual Result<std::vector<RemoteValue>> values_on_workers(const std::string& name) = 0;
  /// One full pass of the function's dataset (or its first `steps` elements), split over the workers that are there;
  /// exact though workers die, and however it is shuffled: all see the order of one seed that is drawn here. Random
  /// inputs are those of each element's number in the pass. One evaluation at a time: a second one waits for the first.
  /// Closures that run meanwhile may change variables between its parts. kInvalidArgument as check_evaluation();
  /// kCancelled after stop_evaluating().
  virtual Result<std::vector<std::pair<std::string, double>>> evaluate(const std::string& function,
                                                                       std::optional<std::int64_t> steps,
                                                                       Deadline deadline) = 0;
  /// Evaluations, one that runs and those that follow, are kCancelled from now on.
  virtual void stop_evaluating() = 0;
  /// The variables, their slots and counters of all parameter servers; partitioned ones in one piece, so that another
  /// number of parameter servers can import them.
  virtual Result<std::vector<std::pair<std::string, tensor::Tensor>>> export_state(Deadline deadline) = 0;
  virtual Result<void> import_state(const std::vector<std::pair<std::string, tensor::Tensor>>& state,
                                    Deadline deadline) = 0;
  /// At the end of a training with "use_ema": every variable becomes its average.
  virtual Result<void> use_averages(Deadline deadline) = 0;

  /// Why everything has ended: the parameter server that was lost. nullopt while all is well.
  virtual std::optional<Error> lost() const = 0;
  /// The cluster is another one from now on: workers join (and get program and iterators before closures), leave (what
  /// they held goes to others) and move. kFailedPrecondition, and nothing changes, where a parameter server joined,
  /// left or moved: variables are where they were made. kInvalidArgument as check_cluster().
  virtual Result<MembershipChange> change_cluster(const cluster::ClusterConfig& config) = 0;
  /// What no worker has yet is cancelled (ClosureState::kCancelled); what runs goes on.
  virtual void drop_queued() = 0;
  /// How many the workers that are up hold at a time.
  virtual std::size_t windows() const = 0;
  virtual std::size_t queued() const = 0;
  virtual std::size_t in_flight() const = 0;
  virtual int workers_up() const = 0;
  /// Of one worker: one for each of its devices. Every worker has as many: connect() is kInvalidArgument otherwise (or
  /// what follows, where the one that differs is slow), and a worker that joins with another number isn't used.
  virtual int num_replicas_in_sync() const = 0;
  /// As it is now.
  virtual ParameterServerStrategyV2 strategy() const = 0;
  /// What CoordinatorOptions::adopt has found: the variables are its own, and its unfinished steps come first. nullopt:
  /// the variables have their initial values.
  virtual const std::optional<AdoptedRun>& adopted() const = 0;
  /// Where the data of steps stand, of each worker of the spec: of the steps that have ended.
  virtual std::map<std::string, DataProgress> data_progress() const = 0;
  /// From now on, until forget_run(), who comes after this one may adopt it. `first_step` was its step before its first
  /// closure, and every closure since that updates variables is a step. With CoordinatorOptions::adopt; else nothing.
  virtual Result<void> record_run(std::int64_t first_step) = 0;
  /// It is over, or its variables are going to be other ones than its steps have made.
  virtual Result<void> forget_run() = 0;
  /// Tells every task to stop and waits for their answers.
  virtual Result<void> shutdown_tasks(Deadline deadline) = 0;
};

/// Tells every worker and ps of the spec to stop, without giving them a program: where nothing is left to do. None of
/// them where one is at work for somebody else's run: kFailedPrecondition names it. kDeadlineExceeded names those that
/// did not answer.
Result<void> say_goodbye(const cluster::ClusterConfig& config, const task::EndpointFactory& make_endpoint,
                         Deadline deadline);

}  // namespace tfd::coordinator
