#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// The ClusterCoordinator behind the public interface: it sends the requests of its parts, which are listed in
// README.md. Each has its own state and no lock; one lock guards them all, and requests are sent and callbacks of the
// caller are called without it. Thread rule: public functions from any thread but the I/O thread; the private ones say
// where they run.
#include <atomic>
#include <condition_variable>
#include <future>
#include <map>
#include <memory>

#include "dispatch/closure_table.hpp"
#include "dispatch/commits.hpp"
#include "dispatch/dispatcher.hpp"
#include "evaluation.hpp"
#include "servers/placed_variables.hpp"
#include "servers/run_ownership.hpp"
#include "servers/server_health.hpp"
#include "stall_report.hpp"
#include "tfd/base/thread_annotations.hpp"
#include "tfd/coordinator/cluster_coordinator.hpp"
#include "tfd/task/parameter_servers.hpp"
#include "workers/command_sessions.hpp"
#include "workers/worker_pool.hpp"
#include "workers/worker_resources.hpp"

namespace tfd::coordinator {

/// Loading compiles every function: minutes for a large one. A task that dies meanwhile is seen by its heartbeats.
inline constexpr Duration kLoadTimeout = std::chrono::minutes(10);

/// A task answers status requests at once, however busy it is.
inline constexpr Duration kStatusAnswer = std::chrono::seconds(5);

class Coordinator final : public ClusterCoordinator {
 public:
  Coordinator(const program::Program& program, CoordinatorOptions options);
  ~Coordinator() override;
  Result<void> open(const cluster::ClusterConfig& config);

  Result<RemoteValue> schedule(Call call, Deadline deadline) override;
  Result<void> join(Deadline deadline) override;
  Result<bool> done() override;
  Result<PerWorkerDataset> create_per_worker_dataset(const std::string& dataset, Deadline deadline) override;
  Result<tensor::Tensor> read(const std::string& variable, Deadline deadline) override;
  Result<tensor::Tensor> read_rows(const std::string& variable, const tensor::Tensor& rows, Deadline deadline) override;
  Result<void> assign(const std::string& variable, const tensor::Tensor& value, Deadline deadline) override;
  Result<void> assign_rows(const std::string& variable, const tensor::Tensor& rows, const tensor::Tensor& values,
                           Deadline deadline) override;
  Result<std::vector<RemoteValue>> values_on_workers(const std::string& name) override;
  Result<std::vector<std::pair<std::string, double>>> evaluate(const std::string& function,
                                                               std::optional<std::int64_t> steps,
                                                               Deadline deadline) override;
  void stop_evaluating() override;
  Result<tensor::NamedTensors> export_state(Deadline deadline) override;
  Result<variable::WriteParts> begin_writing(const std::string& directory, const std::string& run,
                                             Deadline deadline) override;
  void hurry_writing() override { variables_->hurry_writing(); }
  Result<void> import_state(const tensor::NamedTensors& state, Deadline deadline) override;
  Result<void> use_averages(Deadline deadline) override;
  std::optional<Error> lost() const override;
  std::size_t queued() const override;
  std::size_t in_flight() const override;
  int workers_up() const override;
  int workers_expected() const override;
  void drop_queued() override;
  std::size_t windows() const override;
  int num_replicas_in_sync() const override;
  ParameterServerStrategyV2 strategy() const override;
  const std::optional<AdoptedRun>& adopted() const override { return adopted_; }
  Result<void> record_run(std::int64_t first_step) override {
    return ownership_ ? ownership_->record(first_step, epoch_) : Result<void>();
  }
  std::map<std::string, DataProgress> data_progress() const override;
  Result<void> forget_run() override { return ownership_ ? ownership_->forget() : Result<void>(); }
  void show_training(const std::string& standing) override;
  Result<MembershipChange> change_cluster(const cluster::ClusterConfig& config) override;
  Result<void> shutdown_tasks(Deadline deadline) override;

 private:
  using Assignment = Dispatcher::Assignment;

  // connect.cpp
  Result<void> read_spec(const cluster::ClusterConfig& config);
  Result<void> reach_tasks(Deadline deadline);
  Result<int> find_replicas(Deadline deadline);
  Result<void> wait_for_worker(Deadline deadline);
  void share_steps();
  template <class Ready>
  void wait_for_others(Deadline deadline, const Ready& ready) TFD_EXCLUDES(mutex_);
  bool is_up(const Worker& worker) const;
  bool are_all_unusable() const TFD_REQUIRES(mutex_);
  Error no_worker(const std::string& waiting) const;
  std::string whom_it_waits_for(const std::string& waiting) const;

  void dismiss_once_up(task::TaskClient task, Deadline deadline,
                       std::function<void(Result<void>)> done);  // shutdown.cpp
  Result<void> raise() TFD_REQUIRES(mutex_);                     // a pending error; cluster_coordinator.cpp

  // Workers, on the I/O thread. Unchecked, since that thread alone adds them, and changes a client: under the lock,
  // under which other threads read them.
  std::size_t count_workers() const TFD_UNCHECKED_THREADS { return workers_.size(); }
  const std::string& name_of(std::size_t worker) const TFD_UNCHECKED_THREADS { return workers_[worker].name(); }
  task::WorkerClient& client_of(std::size_t worker) const TFD_UNCHECKED_THREADS { return workers_[worker].client(); }

  // dispatch/dispatch.cpp, fencing.cpp: on the I/O thread
  void post_dispatch() TFD_REQUIRES(mutex_);
  void dispatch();
  std::vector<Assignment> assign_closures();
  void send(const Assignment& one);
  void on_reply(const Assignment& one, Result<task::ClosureOutcome> outcome);
  void on_finished(const Assignment& one, Result<task::ClosureOutcome> outcome);
  void settle_finished();
  bool server_failed(const Assignment& one, const Error& error);
  void may_be_fenced(const Assignment& one, Error error, Deadline deadline);
  void fenced_off(const Error& error);
  void on_dropped(const Assignment& one);
  void announce_idle() TFD_REQUIRES(mutex_);
  void rebalance_soon();
  void rebalance();
  void send_fences_and_drops();
  void send_fence(std::size_t server, std::uint64_t sequence);
  void fence_answered(std::size_t server, std::uint64_t sequence, const Result<void>& answer);
  void settle();
  // dispatch/committing.cpp: on the I/O thread, but the pauses
  bool is_own(const std::string& variable) const;
  void on_staged(const Assignment& one, task::ClosureOutcome outcome);
  void send_commits();
  void send_commit(std::uint32_t server, const variable::Attempt& attempt);
  void read_returns(const Commits::Order& order);
  Result<void> returns_read(std::uint64_t sequence, const std::vector<std::string>& names,
                            std::vector<tensor::Tensor> values);
  bool server_answers(std::size_t server, const Error& error, std::function<void()> again);
  bool server_answers(const Error& error, std::function<void()> again);
  void commit_answered(std::uint64_t sequence, const Result<void>& answer);
  void go_on_committing(std::uint64_t sequence, Commits::Next next);
  void make_due(std::uint64_t sequence, bool makes_all);
  void send_abort(std::size_t server, const variable::Attempt& attempt);
  Result<void> pause_commits(Deadline deadline);
  void resume_commits();
  /// Runs `what` while every parameter server has committed the same closures; on the caller's thread. Blocks.
  template <class What>
  auto between_commits(Deadline deadline, const What& what) -> decltype(what()) {
    if (!options_.strict) return what();
    TFD_TRY(pause_commits(deadline));
    auto done = what();
    resume_commits();
    return done;
  }

  static void call_back(const Closure& closure);
  static void call_back(const ClosurePtrs& closures);

  // workers/workers.cpp, worker_loss.cpp: on the I/O thread
  void on_peer(const transport::PeerEvent& event);
  std::optional<std::size_t> find_member(const std::string& name) const;  // a worker of the newest spec
  void worker_refused(const transport::PeerEvent& event);
  void on_worker_up(std::size_t index, transport::Incarnation incarnation);
  void worker_lost(std::size_t index, std::optional<std::uint64_t> generation, const std::string& reason,
                   bool died = true, bool is_unfit = false);
  void ask_what_it_does(std::size_t index, std::uint64_t generation);
  void load_worker(std::size_t index, std::uint64_t generation);
  void on_replicas_known(std::size_t index, std::uint64_t generation, int replicas);
  void load_failed(std::size_t index, std::uint64_t generation, Error error);
  void make_iterators(std::size_t index, std::uint64_t generation);
  void iterator_made(std::size_t index, std::uint64_t generation, std::uint64_t number, Result<void> made);
  void worker_ready(std::size_t index, std::uint64_t generation, Window window);
  void retry_worker_after(std::size_t index, Duration pause);
  void server_reported(std::size_t index, std::uint64_t generation, const Error& error);
  void server_checked(std::size_t index, std::uint64_t generation, std::size_t server, const Error& error,
                      const Result<task::TaskStatus>& status);
  void resume_worker_soon(std::size_t index, std::uint64_t generation);
  bool is_server(const std::string& task) const;

  // workers/resources.cpp: iterators and variables on workers
  void drop_iterators(std::uint64_t number);  // on the I/O thread
  std::uint64_t shuffle_stream_of(const Worker& worker) const TFD_REQUIRES(mutex_);
  Result<task::ClosureOutcome> read_on(std::size_t worker, const std::string& variable, Deadline deadline);
  Result<void> assign_on_workers(const std::string& variable, const tensor::Tensor& value, Deadline deadline);

  // workers/membership.cpp
  MembershipChange change_workers(const std::map<std::string, std::string>& addresses);  // on the I/O thread
  void connect_worker(std::size_t index) TFD_REQUIRES(mutex_);                           // on the I/O thread

  // workers/commands.cpp: on the I/O thread, but end_sessions()
  void open_session(std::size_t index, std::uint64_t generation);
  void renew_sessions();
  void send_command(const Assignment& one);
  void end_sessions(Deadline deadline);

  // servers/servers.cpp
  Result<void> load_servers(Deadline deadline);
  Result<void> begin_run();
  Result<void> claim_cluster();
  Result<bool> adopt_run();
  void server_event(std::size_t index, const transport::PeerEvent& event);  // on the I/O thread
  void server_away(std::size_t index, const transport::PeerEvent& event);   // on the I/O thread
  void server_back(std::size_t index);                                      // on the I/O thread
  void confirm_claim();                                                     // on the I/O thread
  Result<void> wait_for_servers(const std::vector<std::size_t>& indices, const Error& why);
  void server_lost(const Server& server, const std::string& reason);  // on the I/O thread
  void end_all(Error error);                                          // on the I/O thread

  // evaluate.cpp: on the I/O thread
  void dispatch_evaluation();
  void evaluated(const EvaluationQueue::Part& part, const Result<std::vector<step::Metric>>& metrics);

  // watchdog.cpp
  std::string describe() const TFD_REQUIRES(mutex_);
  void watch();  // on the I/O thread

  const program::Program program_;
  const CoordinatorOptions options_;
  std::uint64_t epoch_ = 0;                      // set before the first request
  const std::shared_ptr<CoordinatorLink> link_;  // with the values
  cluster::ClusterConfig config_ TFD_GUARDED_BY(mutex_);
  task::Placement placement_;
  task::PackedProgram packed_;               // of both
  step::ReplicaCopies copies_;               // with the first worker's number of replicas
  std::optional<CommandSessions> sessions_;  // with CoordinatorOptions::commands; the I/O thread's, after open()
  std::optional<RunOwnership> ownership_;    // with parameter servers, since open(); the caller's thread
  std::optional<AdoptedRun> adopted_;        // since open()

  mutable Mutex mutex_;
  std::condition_variable idle_;     // nothing is in flight (and nothing queued, or an error is pending)
  std::condition_variable room_;     // the queue has room, or an error may be raised
  std::condition_variable changed_;  // workers, iterators, evaluations
  ClosureTable closures_ TFD_GUARDED_BY(mutex_);
  Commits commits_ TFD_GUARDED_BY(mutex_);
  WorkerPool workers_ TFD_GUARDED_BY(mutex_);     // grows on the I/O thread, under the lock
  Dispatcher dispatcher_ TFD_GUARDED_BY(mutex_);  // over both
  WorkerResources resources_ TFD_GUARDED_BY(mutex_);
  std::vector<Server> servers_;  // the same since open()
  ServerHealth health_ TFD_GUARDED_BY(mutex_);
  std::unique_ptr<task::ParameterServers> ps_;  // those, in their order
  std::optional<PlacedVariables> variables_;    // on them, since open()
  std::uint64_t settled_ = 0;  // sequence numbers settled on parameter servers; used by the I/O thread, after open()
  std::optional<Error> fatal_ TFD_GUARDED_BY(mutex_);  // loss of a parameter server: fails all requests
  EvaluationQueue evaluations_ TFD_GUARDED_BY(mutex_);
  // A task refused us: it may belong to a newer coordinator, so tasks aren't shut down.
  bool fenced_ TFD_GUARDED_BY(mutex_) = false;
  bool dispatch_posted_ TFD_GUARDED_BY(mutex_) = false;
  bool closing_ TFD_GUARDED_BY(mutex_) = false;
  StallReport stall_ TFD_GUARDED_BY(mutex_);

  std::atomic<bool> opened_{false};  // open() itself polls peers' earlier events
  std::atomic<bool> servers_ready_{false};
  struct Finished {
    Assignment of;
    Result<task::ClosureOutcome> outcome;
  };
  std::vector<Finished> finished_;           // in this turn; I/O thread only
  bool dispatching_ = false;                 // I/O thread only
  bool dispatch_again_ = false;              // I/O thread only
  transport::Endpoint* endpoint_ = nullptr;  // the same endpoint: its thread still uses it during destruction
  std::future<void> shown_;                  // the answer to the last show_training()
  std::unique_ptr<transport::Endpoint> owned_endpoint_;  // last: its thread uses all of the above
};

}  // namespace tfd::coordinator
