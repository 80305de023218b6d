#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// The client of all parameter servers: each variable is one tensor, whatever shards it is in. One operation is at most
// one message to each parameter server, and all of them are asked at once. What a lost connection means is the owner's
// policy: a worker of a coordinator reports it, a coordinator and a worker that trains by itself wait and ask again.
// Thread rule: thread-safe; operations block their caller, and replies arrive on the endpoint's I/O thread.
//
//   ParameterServers servers(endpoint, placement, {.peer = {.patience = 30s}});
//   servers.set_epoch(epoch);
//   auto reading = servers.start_read({"w", "b"}, deadline);   // do something else meanwhile
//   auto values = TFD_TRY(reading.wait(stop));
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "tfd/step/row_lookup.hpp"
#include "tfd/task/placement.hpp"
#include "tfd/task/server_client.hpp"
#include "tfd/task/task_server.hpp"

namespace tfd::task {

using NamedState = std::vector<std::pair<std::string, tensor::Tensor>>;
class Activity;

/// How an owner of ParameterServers treats them.
struct ServerPolicy {
  transport::PeerOptions peer = {};
  /// Told whom an operation waits for.
  Activity* activity = nullptr;
  /// Called on the caller's thread when these (positions) couldn't be asked, or are other processes than wait_up()
  /// found; `attempt` counts from 0. Ok: ask them again. Without it the first failure ends an operation at once.
  std::function<Result<void>(const std::vector<std::size_t>& servers, const Error& why, int attempt)> on_cut = {};
  /// The endpoint may end first, so the peers are left to it.
  bool leaves_peers = false;
};

/// Of ParameterServers::connect().
struct ParameterServersOptions {
  std::string name;  // of this client, "worker:1"
  EndpointFactory make_endpoint = transport::make_zmq_endpoint;
  /// How long one may be silent, or its connection broken, while nothing says that its process has ended.
  Duration rejoin = std::chrono::seconds(30);
  Log log = {};
};

class ParameterServers {
 public:
  ParameterServers(transport::Endpoint& endpoint, const Placement& placement, ServerPolicy policy);
  ~ParameterServers();
  ParameterServers(const ParameterServers&) = delete;
  ParameterServers& operator=(const ParameterServers&) = delete;

  /// With an endpoint of its own, connected to every one of the placement; kDeadlineExceeded names those that aren't
  /// there. An operation that was cut off is done again while the parameter server is the same process; updates are
  /// applied once all the same. kUnavailable: it is gone, or another process by now.
  static Result<std::unique_ptr<ParameterServers>> connect(const Placement& placement, ParameterServersOptions options,
                                                           Deadline deadline);

  std::size_t size() const { return tasks_.size(); }
  /// One of them, for requests that are its own, and for callers that must not block.
  ServerClient& task(std::size_t server) { return tasks_[server]; }
  const ServerClient& task(std::size_t server) const { return tasks_[server]; }
  transport::Endpoint& endpoint() { return endpoint_; }
  /// The process that wait_up() found.
  transport::Incarnation incarnation(std::size_t server) const { return incarnations_[server]; }
  bool is_up(std::size_t server) const;

  /// Until all are up; errors of Endpoint::wait_up().
  Result<void> wait_up(Deadline deadline);
  /// Waits until all are up, and begins a run. Where one of them is of the run before, and just stopping, `begin` is
  /// called again when its successor is there, a few times; `may_wait` is asked before, and told why.
  Result<void> begin(Deadline deadline, const std::function<bool(const Error& why)>& may_wait,
                     const std::function<Result<void>()>& begin);
  /// kUnavailable where one can't be reached by then, its task set to the first one: says why. kCancelled when `stop`
  /// is asked for.
  Result<void> reach(Deadline deadline, const std::stop_token& stop = {}) const;
  /// Of the run that is theirs: load() sets it, too. All but status() is refused while it is another one.
  void set_epoch(std::uint64_t epoch);
  std::uint64_t epoch() const { return tasks_.front().epoch(); }

  /// The coordination service, which the first one serves.
  CoordinationClient coordination(CoordinationScope scope = CoordinationScope::kRun);

  // Errors have Error::task set to the parameter server, and are the first in the order of the placement.

  /// An epoch, of the first one. kPermissionDenied says who has the cluster, and answers.
  Result<std::uint64_t> claim(const Claim& claim, Deadline deadline);
  /// Makes the variables of the program, as a new epoch; older ones are fenced off.
  Result<void> load(const PackedProgram& program, std::uint64_t epoch, Deadline deadline);
  /// The run which each of them has, as the epoch `from[i]`, goes on as `epoch`: ServerClient::adopt(). Where one of
  /// them can't, others may have done it.
  Result<std::vector<variable::SequenceHistory>> adopt(const std::vector<std::uint64_t>& from, std::uint64_t epoch,
                                                       Deadline deadline);
  /// In the order of the placement.
  Result<std::vector<TaskStatus>> status(Deadline deadline);

  /// A read that is under way: do something else, then wait(). It ends before its ParameterServers.
  class Pending {
   public:
    /// In the order of the names or lookups. kCancelled when `stop` is asked for; kUnavailable with Error::task =
    /// "ps:1" when that parameter server is gone; kDeadlineExceeded names the ones that haven't answered.
    Result<std::vector<tensor::Tensor>> wait(const std::stop_token& stop = {});

   private:
    friend class ParameterServers;
    struct State;
    ParameterServers* servers_ = nullptr;
    std::shared_ptr<State> state_;  // with the callbacks, which may come after wait() gave up
  };
  Pending start_read(const std::vector<std::string>& names, Deadline deadline);
  /// Only these rows move, each once for a lookup however often it is named. kInvalidArgument names an index that is no
  /// row.
  Pending start_lookup(const std::vector<step::RowLookup>& lookups, Deadline deadline);
  Result<std::vector<tensor::Tensor>> read(const std::vector<std::string>& names, Deadline deadline);
  Result<std::vector<tensor::Tensor>> look_up(const std::vector<step::RowLookup>& lookups, Deadline deadline);

  /// All updates of one closure, of rows too; those of partitioned variables are cut up. A gradient of rows goes to
  /// every shard, so that all of them count the same updates; no updates at all are one without parts for every
  /// parameter server, so that none waits for its number. kInvalidArgument names an index that is no row. Done when
  /// every parameter server has applied (or had applied) its part; all or nothing on each. Where gradients are
  /// accumulated and clipped by a norm that lies on several of them, who completes an update makes it by two further
  /// messages to each. kPermissionDenied: it has
  /// another epoch by now. `client` is whose sequence number it is; 0: the coordinator's.
  Result<void> update(std::uint64_t sequence, const std::vector<variable::Update>& updates, Deadline deadline,
                      const std::stop_token& stop = {}, std::uint64_t client = 0);
  /// The same under this client's own next number.
  Result<void> update_next(const std::vector<variable::Update>& updates, Deadline deadline);
  /// Values of whole variables.
  Result<void> assign(const NamedState& values, Deadline deadline);
  /// Rows of variables (UpdateKind::kAssignRows). As assign(), this counts as no update.
  Result<void> assign_rows(const std::vector<variable::Update>& rows, Deadline deadline);
  /// Of several ".iterations" the largest.
  Result<NamedState> export_state(Deadline deadline);
  Result<void> import_state(const NamedState& state, Deadline deadline);
  /// At the end of training: every value becomes its average, where the optimizer keeps one.
  Result<void> use_averages(Deadline deadline);
  /// Tells them to stop, unless they belong to a newer epoch.
  Result<void> shutdown(std::uint64_t epoch, Deadline deadline);

 private:
  class Operation;
  class Rejoin;
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
  /// Makes the updates of these variables, or of all, that are due. False where some of them wait for gradients of
  /// others; without `waits` these are made, too.
  Result<bool> make_due(const std::optional<Names>& names, bool waits, Deadline deadline, const std::stop_token& stop);
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
};

}  // namespace tfd::task
