#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// The worker's half of a task: which requests wait, of which coordinator, and which of them nobody wants any more. A
// ClosureExecutor does what they ask, in the order they came.
// Thread rule: the public functions from the I/O thread; the rest on the executor's thread, which this object owns.
#include <atomic>
#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <optional>
#include <stop_token>
#include <thread>

#include "closure_executor.hpp"

namespace tfd::task {

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
  std::uint64_t epoch() const { return executor_.epoch(); }

 private:
  struct Job {
    transport::Message request;
    transport::Responder responder;
    std::uint64_t connection = 0;                    // whose it is
    std::optional<transport::Message> program = {};  // of a load
  };

  void execute(std::stop_token stop);
  std::deque<Job> take_calls(const std::unique_lock<std::mutex>&, std::size_t most,
                             const std::function<bool(const step::FunctionCall&)>& is_meant);
  /// Takes out what waits of these callers, and has what runs of them stopped, as far as it can be.
  std::deque<Job> abandon(const std::unique_lock<std::mutex>& lock,
                          const std::function<bool(std::uint64_t)>& is_theirs);
  bool is_abandoned() const;
  Error fenced_off() const;
  Result<transport::Message> answer(const Job& job, const DropWaiting& dropping, const std::stop_token& stop);
  Result<transport::Message> finish_load(std::uint64_t epoch, Result<transport::Message> loaded);
  Result<void> check_epoch(const transport::Message& request) const;

  Activity activity_;
  ClosureExecutor executor_;

  mutable std::mutex mutex_;
  std::condition_variable_any wake_;
  std::deque<Job> jobs_;  // guarded by mutex_, as what follows
  std::stop_source stop_;
  std::stop_source job_stop_;  // what runs now: stopped with it, or when nobody waits for its answer any more
  std::optional<std::uint64_t> running_;  // whose job the executor has
  std::optional<std::uint64_t> served_;   // whose job it had last, while they are there
  bool is_abandoned_ = false;             // nobody wants that job's answer
  bool has_stopped_ = false;              // commands of those that are gone; over with the next job
  DropWaiting drop_;
  std::atomic<std::uint64_t> newest_{0};  // epoch that asked for this worker
  std::atomic<std::uint64_t> closures_done_{0};
  std::jthread thread_;
};

}  // namespace tfd::task
