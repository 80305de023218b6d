#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// The worker's half of a task: compiles a program's functions, keeps iterators, runs closures in the order they came.
// Thread rule: submit() and fill() from the I/O thread; everything else on the executor thread that this object owns.
#include <atomic>
#include <condition_variable>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <stop_token>
#include <string>
#include <thread>

#include "activity.hpp"
#include "closure_runner.hpp"
#include "protocol.hpp"
#include "replicas.hpp"
#include "tfd/runtime/parameter_servers.hpp"
#include "tfd/runtime/task_server.hpp"

namespace tfd::runtime {

class WorkerService {
 public:
  WorkerService(transport::Endpoint& endpoint, const TaskServerOptions& options);
  ~WorkerService() { stop(); }
  /// Ends the executor; what is queued, and what comes later, is answered with kCancelled. Not on the I/O thread.
  void stop();

  /// Queues a request for the executor; it answers. The program of a newer coordinator ends what is there of others:
  /// what waits is refused, a command that runs is stopped.
  /// A load of one that isn't there has it with it, as it was brought.
  void submit(const transport::Caller& caller, transport::Message request, transport::Responder responder,
              std::optional<transport::Message> program = {});
  /// Closures that haven't begun, or come later, are answered as dropped.
  void drop(const DropWaiting& drop);
  void give_back(const GiveBack& give_back);
  /// Nobody waits for its answers any more: as if it had asked for nothing.
  void caller_gone(const transport::Caller& caller);
  void fill(TaskStatus& status) const;
  /// Epoch of the newest coordinator that asked for it, whether its program is loaded yet or not.
  std::uint64_t newest() const { return newest_; }
  /// Of the program that is loaded; 0: none.
  std::uint64_t epoch() const { return epoch_; }

 private:
  struct Job {
    transport::Message request;
    transport::Responder responder;
    std::uint64_t connection = 0;                    // whose it is
    std::optional<transport::Message> program = {};  // of a load
  };

  void execute(std::stop_token stop);
  std::deque<Job> take_calls(const std::unique_lock<std::mutex>&, std::size_t most,
                             const std::function<bool(const ClosureCall&)>& is_meant);
  /// Takes out what waits of these callers, and has what runs of them stopped, as far as it can be.
  std::deque<Job> abandon(const std::unique_lock<std::mutex>& lock,
                          const std::function<bool(std::uint64_t)>& is_theirs);
  bool is_abandoned() const;
  Error fenced_off() const;
  Result<transport::Message> answer(const Job& job);
  Result<transport::Message> load_program(const Job& job);
  Result<transport::Message> finish_load(std::uint64_t epoch, Result<transport::Message> loaded);
  Result<transport::Message> create_iterator(const CreateIterator& create);
  Result<transport::Message> run(const ClosureCall& call);
  Result<transport::Message> evaluate(const Evaluate& evaluate);

  Result<void> check_epoch(const transport::Message& request) const;
  Result<WorkerIterator*> find_iterator(const std::string& id);
  void forget_stopped();
  Result<ReplicaCopies> make_copies(const program::Program& program, const Placement& placement) const;
  bool is_own(std::string_view variable) const;
  /// Takes those of the worker's own out of the names.
  Result<std::map<std::string, tensor::Tensor>> read_own(std::vector<std::string>& names) const;
  /// The names that the call reads, its arguments among them. kNotFound.
  Result<std::vector<std::string>> variables_of(const program::FunctionDef& function, const ClosureCall& call) const;
  Result<void> apply_updates(const ClosureCall& call, std::vector<variable::Update> updates);
  Result<transport::Message> read(const transport::Message& request) const;
  Result<void> assign(const transport::Message& request);
  /// Outside of replicas: the variables that the function reads, as one snapshot per parameter server.
  Result<std::map<std::string, tensor::Tensor>> read_variables(const std::vector<std::string>& names);
  /// The rows that each share of a call looks up.
  Result<void> look_up(const program::FunctionDef& function, CallContext context, std::vector<ReplicaShare>& shares);

  transport::Endpoint& endpoint_;
  const TaskServerOptions& options_;
  std::stop_source stop_;
  std::stop_source job_stop_;  // what runs now: stopped with it, or when nobody waits for its answer any more

  // The executor's own.
  int replicas_ = 1;
  std::shared_ptr<function::Engine> engine_;  // shared with the functions it compiled
  std::unique_ptr<WorkerProgram> program_;
  std::unique_ptr<ParameterServers> variables_;
  std::map<std::string, WorkerIterator, std::less<>> iterators_;
  ReplicaCopies copies_;
  std::uint64_t shuffle_stream_ = 0;  // of iterators of the program's own datasets that are made from now on
  variable::VariableStore own_;       // of variables with per_worker
  std::uint64_t own_updates_ = 0;

  DropWaiting dropping_;  // as it was when the job was begun

  Activity activity_;
  const std::shared_ptr<const function::CommandStop> stop_commands_;  // shared with the commands

  mutable std::mutex mutex_;
  std::condition_variable_any wake_;
  std::deque<Job> jobs_;                  // guarded by mutex_, as what follows
  std::optional<std::uint64_t> running_;  // whose job the executor has
  std::optional<std::uint64_t> served_;   // whose job it had last, while they are there
  bool is_abandoned_ = false;             // nobody wants that job's answer
  bool has_stopped_ = false;              // commands of those that are gone; over with the next job
  DropWaiting drop_;
  std::atomic<std::uint64_t> newest_{0};  // epoch that asked for this worker
  std::atomic<std::uint64_t> epoch_{0};
  std::atomic<std::uint64_t> closures_done_{0};
  std::jthread executor_;
};

}  // namespace tfd::runtime
