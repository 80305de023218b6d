#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Client of all parameter servers: each variable is one tensor, however it is sharded. An operation is at most one
// message to each parameter server, sent concurrently. A lost connection is handled by the owner's policy: a
// coordinator's worker reports it, a coordinator and a worker that trains by itself wait and retry. Thread rule:
// thread-safe; operations block their caller, and replies arrive on the endpoint's I/O thread.
//
//   ParameterServers servers(endpoint, placement, {.peer = {.patience = 30s}});
//   servers.set_epoch(epoch);
//   auto reading = servers.start_read({"w", "b"}, deadline);   // do something else meanwhile
//   auto values = TFD_TRY(reading.wait(stop));
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "tfd/step/row_lookup.hpp"
#include "tfd/task/coordination.hpp"
#include "tfd/task/placement.hpp"
#include "tfd/task/server_client.hpp"
#include "tfd/transport/endpoint.hpp"

namespace tfd::task {

class Activity;

/// The owner's policy for its parameter servers.
struct ServerPolicy {
  transport::PeerOptions peer = {};
  /// Records the tasks that an operation waits for.
  Activity* activity = nullptr;
  /// Called on the caller's thread when requests to these servers (positions) failed, or they aren't the processes that
  /// wait_up() found; `attempt` counts from 0. Ok: retry. Without it the first failure ends an operation.
  std::function<Result<void>(const std::vector<std::size_t>& servers, const Error& why, int attempt)> on_cut = {};
  /// If true, a thread that waits for the servers does the endpoint's I/O: Endpoint::drive() says when that is right.
  bool is_driven = false;
  /// If true, read values are released soon, and may lie in the memory of a server of this host. Otherwise they are
  /// copied.
  bool reads_for_a_step = false;
  /// If true, the endpoint may be destroyed first, so peers aren't removed.
  bool leaves_peers = false;
};

/// Options of ParameterServers::connect().
struct ParameterServersOptions {
  std::string name;  // this client's name, "worker:1"
  transport::EndpointFactory make_endpoint = transport::make_zmq_endpoint;
  /// Time that a parameter server may be silent or disconnected, unless its process is known to have ended.
  Duration rejoin = std::chrono::seconds(30);
  Log log = {};
};

class ParameterServers {
 private:
  class Operation;

 public:
  ParameterServers(transport::Endpoint& endpoint, const Placement& placement, ServerPolicy policy);
  ~ParameterServers();
  ParameterServers(const ParameterServers&) = delete;
  ParameterServers& operator=(const ParameterServers&) = delete;

  /// Connects to every parameter server of the placement with an endpoint of its own; kDeadlineExceeded names missing
  /// ones. Interrupted operations are retried while the parameter server is the same process; updates are still applied
  /// once. kUnavailable: it is gone, or another process by now.
  static Result<std::unique_ptr<ParameterServers>> connect(const Placement& placement, ParameterServersOptions options,
                                                           Deadline deadline);

  std::size_t size() const { return tasks_.size(); }
  /// Client of one parameter server, for requests to it alone, and for callers that must not block.
  ServerClient& task(std::size_t server) { return tasks_[server]; }
  const ServerClient& task(std::size_t server) const { return tasks_[server]; }
  transport::Endpoint& endpoint() { return endpoint_; }
  /// Incarnation that wait_up() found.
  transport::Incarnation incarnation(std::size_t server) const { return incarnations_[server]; }
  bool is_up(std::size_t server) const;

  /// Blocks until all are up; errors of Endpoint::wait_up().
  Result<void> wait_up(Deadline deadline, const std::stop_token& stop = {});
  /// Waits until all are up, and begins a run. If one still belongs to the previous run and is stopping, `begin` is
  /// called again, a few times, when its successor is up; `may_wait` decides that, given the error. kCancelled if
  /// `stop` is requested while it waits.
  Result<void> begin(Deadline deadline, const std::function<bool(const Error& why)>& may_wait,
                     const std::function<Result<void>()>& begin, const std::stop_token& stop = {});
  /// Waits until all can be reached. kUnavailable names the first that can't by the deadline, and why. kCancelled if
  /// `stop` is requested.
  Result<void> reach(Deadline deadline, const std::stop_token& stop = {}) const;
  /// Sets the epoch of the servers' run, as load() does. All requests but status() are refused if it is another one.
  void set_epoch(std::uint64_t epoch);
  std::uint64_t epoch() const { return tasks_.front().epoch(); }

  /// Client of the coordination service of the first parameter server.
  CoordinationClient coordination(CoordinationScope scope = CoordinationScope::kRun);

  // Errors have Error::task set to the parameter server, the first in the placement's order.

  /// Claims an epoch from the first parameter server. kPermissionDenied names a holder that still answers.
  Result<std::uint64_t> claim(const Claim& claim, Deadline deadline);
  /// Creates the program's variables under a new epoch; older epochs are fenced off.
  Result<void> load(const PackedProgram& program, std::uint64_t epoch, Deadline deadline);
  /// Moves each server's run from epoch `from[i]` to `epoch`: ServerClient::adopt(). If one fails, others may have done
  /// it.
  Result<std::vector<variable::SequenceHistory>> adopt(const std::vector<std::uint64_t>& from, std::uint64_t epoch,
                                                       Deadline deadline);
  /// Status of each, in the placement's order.
  Result<std::vector<TaskStatus>> status(Deadline deadline);

  /// A read in flight: do something else, then wait(). Must not outlive its ParameterServers.
  class Pending {
   public:
    /// Returns the values in the order of the names or lookups. kCancelled if `stop` is requested; kUnavailable with
    /// Error::task = "ps:1" if that parameter server is gone; kDeadlineExceeded names those that haven't answered.
    Result<std::vector<tensor::Tensor>> wait(const std::stop_token& stop = {});
    /// Calls `done` instead, once, on the I/O thread or now. The first failure ends it, whatever the policy.
    void then(std::function<void(Result<std::vector<tensor::Tensor>>)> done);

   private:
    friend class ParameterServers;
    struct State;
    ParameterServers* servers_ = nullptr;
    std::shared_ptr<State> state_;  // shared with the callbacks, which may come after wait() gave up
  };
  Pending start_read(const std::vector<std::string>& names, Deadline deadline);
  /// Looks up rows; only these are transferred, each once per lookup however often it is named. kInvalidArgument names
  /// an index out of range.
  Pending start_lookup(const std::vector<step::RowLookup>& lookups, Deadline deadline);
  Result<std::vector<tensor::Tensor>> read(const std::vector<std::string>& names, Deadline deadline);
  Result<std::vector<tensor::Tensor>> look_up(const std::vector<step::RowLookup>& lookups, Deadline deadline);

  /// Applies all updates of one closure, including rows; those of partitioned variables are split. A gradient of rows
  /// goes to every shard, so that all count the same updates; an empty list of updates goes to every parameter server,
  /// so that none waits for its number. kInvalidArgument names an index out of range. Returns when every parameter
  /// server has applied its part, now or before; atomic on each. If gradients are accumulated and clipped by a norm
  /// over several servers, the client that completes an update makes it by two further messages to each.
  /// kPermissionDenied: a server has another epoch by now. `client` owns the sequence number; 0: the coordinator.
  Result<void> update(std::uint64_t sequence, const std::vector<variable::Update>& updates, Deadline deadline,
                      const std::stop_token& stop = {}, std::uint64_t client = 0);
  /// An update in flight: later requests to the parameter servers see it. Must not outlive its
  /// ParameterServers.
  class PendingUpdate {
   public:
    /// Waits, and returns the result of update().
    Result<void> wait(const std::stop_token& stop = {});
    /// Calls `done` instead, once, on the I/O thread.
    void then(std::function<void(Result<void>)> done);

   private:
    friend class ParameterServers;
    ParameterServers* servers_ = nullptr;
    std::shared_ptr<Operation> operation_;  // with the callbacks
  };
  /// Sends the updates of one closure, if they leave in one piece; otherwise, or where the owner's policy retries, does
  /// nothing and returns none: use update(). Not for optimizers that accumulate gradients.
  Result<std::optional<PendingUpdate>> start_update(std::uint64_t sequence,
                                                    const std::vector<variable::Update>& updates, Deadline deadline);
  /// Stages the updates of one attempt of a closure, for its coordinator to commit; those that update() would apply.
  struct Staging {
    PendingUpdate pending;               // ends when all servers have them
    std::vector<std::uint32_t> servers;  // positions
    bool is_whole = true;                // false: wait for it before anything else is asked, which might overtake it
  };
  Result<Staging> start_stage(const variable::Attempt& attempt, const std::vector<variable::Update>& updates,
                              Deadline deadline);
  /// Has each server (by position) commit these attempts, and drop all others: what a coordinator that is gone left.
  Result<void> resolve(std::vector<std::vector<variable::Attempt>> commits, Deadline deadline);
  /// True if the optimizer clips accumulated gradients by a norm of variables on several servers: update() makes such
  /// updates when they are due, and whoever commits calls start_making_due().
  bool shares_norms(const variable::Optimizer& optimizer) const;
  /// Makes the updates that are due; `done` is called once, on the I/O thread. `waits`: not those of a norm of which
  /// some still wait for gradients.
  void start_making_due(bool waits, Deadline deadline, std::function<void(Result<void>)> done);
  /// The same under this client's own next sequence number.
  Result<void> update_next(const std::vector<variable::Update>& updates, Deadline deadline);
  /// Assigns whole variables.
  Result<void> assign(const tensor::NamedTensors& values, Deadline deadline);
  /// Assigns rows of variables (UpdateKind::kAssignRows). As with assign(), the optimizer counts no update.
  Result<void> assign_rows(const std::vector<variable::Update>& rows, Deadline deadline);
  /// Exports the whole state; ".iterations" is the largest of the servers'.
  Result<tensor::NamedTensors> export_state(Deadline deadline);
  /// Finds out whether all see a directory, and may write there, by files that are removed again. `run` owns them.
  /// kFailedPrecondition: one doesn't, and why; Error::task names it. The errors of the system where it can't be asked
  /// now, such as kResourceExhausted for a full disk.
  Result<void> probe_directory(const std::string& directory, const std::string& run, Deadline deadline);
  /// Has all take a snapshot of their state, which updates may follow at once. The returned function has each write its
  /// own to disk, into a directory that a probe has shown; it is called once or not at all, on any thread, and must not
  /// outlive this. It returns the same as update(), kAborted excepted.
  Result<variable::WriteParts> begin_writing(Deadline deadline);
  /// Tells all that what they write is waited for. Doesn't wait for their answers.
  void hurry_writing();
  Result<void> import_state(const tensor::NamedTensors& state, Deadline deadline);
  /// Replaces every value by its average, if the optimizer keeps one; called at the end of training.
  Result<void> use_averages(Deadline deadline);
  /// Shuts them down, unless they belong to a newer epoch.
  Result<void> shutdown(std::uint64_t epoch, Deadline deadline);

 private:
  class Rejoin;
  class Writing;
  using Parts = std::vector<std::vector<variable::Update>>;  // by parameter server
  using Ask = std::function<void(ServerClient& task, std::size_t server, ServerClient::Callback<void> done)>;

  std::vector<transport::PeerId> peers() const;
  Result<const variable::PlacedVariable*> find(const std::string& variable) const;
  Result<void> cut(const variable::Update& update, Parts& parts) const;
  Result<Parts> cut(const std::vector<variable::Update>& updates) const;
  struct Number {
    std::uint64_t sequence, client;
  };
  Result<void> push(const Number& number, const Parts& parts, Deadline deadline, const std::stop_token& stop);
  using Names = std::vector<std::vector<std::string>>;  // by parameter server
  /// Makes the due updates of these variables, or of all. False if some wait for gradients of others; without `waits`
  /// these are made, too.
  Result<bool> make_due(const std::optional<Names>& names, bool waits, Deadline deadline, const std::stop_token& stop);
  using Due = std::vector<std::vector<variable::DueUpdate>>;  // by parameter server
  std::shared_ptr<Operation> begin_finding_due(const std::optional<Names>& names, const std::shared_ptr<Due>& due,
                                               Deadline deadline);
  std::shared_ptr<Operation> begin_making(const Due& due, Deadline deadline);
  std::vector<std::size_t> all() const;
  Result<void> finish(const std::shared_ptr<Operation>& operation, const std::stop_token& stop = {});
  Result<void> do_on(const std::vector<std::size_t>& servers, const Ask& ask, const std::stop_token& stop = {});
  template <class T, class Question>
  Result<std::vector<T>> ask_all(const Question& question);

  std::unique_ptr<transport::Endpoint> owned_;  // of connect()
  transport::Endpoint& endpoint_;
  ServerPolicy policy_;
  const Placement placement_;
  std::vector<ServerClient> tasks_;
  std::vector<transport::Incarnation> incarnations_;
  std::atomic<std::uint64_t> next_sequence_{0};
  std::atomic<bool> hurries_{false};  // a current or next write is waited for
};

}  // namespace tfd::task
