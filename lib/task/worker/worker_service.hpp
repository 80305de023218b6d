#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// The worker of a task: queues requests, by coordinator, and drops abandoned ones. A ClosureExecutor executes them in
// FIFO order. Thread rule: the public functions from the I/O thread; the rest on the executor's thread, which this
// object owns.
#include <atomic>
#include <condition_variable>
#include <deque>
#include <functional>
#include <optional>
#include <stop_token>
#include <thread>
#include <utility>
#include <vector>

#include "closure_executor.hpp"
#include "staged_answers.hpp"
#include "tfd/base/thread_annotations.hpp"

namespace tfd::task {

class WorkerService {
 public:
  WorkerService(transport::Endpoint& endpoint, const TaskServerOptions& options);
  ~WorkerService() { stop(); }
  /// Ends the executor; queued and later requests are answered with kCancelled. Not on the I/O thread.
  void stop();

  /// Queues a request for the executor, which answers it. A newer coordinator's program ends the others' work: waiting
  /// requests are refused, a running command is stopped. A load request carries the program, unless it is loaded.
  void submit(const transport::Caller& caller, transport::Message request, transport::Responder responder,
              std::optional<transport::Message> program = {});
  /// Answers closures that haven't started, or arrive later, as dropped.
  void drop(const DropWaiting& drop);
  void give_back(const GiveBack& give_back);
  /// Drops the caller's requests: nobody waits for the answers now.
  void caller_gone(const transport::Caller& caller);
  void fill(TaskStatus& status) const;
  /// Epoch of the newest load request, whether its program is loaded yet or not.
  std::uint64_t newest() const { return newest_; }
  /// Epoch of the loaded program; 0 if none is loaded.
  std::uint64_t epoch() const { return executor_.epoch(); }

 private:
  struct Job {
    transport::Message request;
    transport::Responder responder;
    std::uint64_t connection = 0;                    // its owner
    std::optional<transport::Message> program = {};  // of a load
  };

  void execute(std::stop_token stop);
  /// Does the endpoint's I/O until there is a job: a caller mostly asks again soon.
  void drive(const std::stop_token& stop) TFD_EXCLUDES(mutex_);
  std::deque<Job> take_calls(std::size_t most, const std::function<bool(const step::FunctionCall&)>& is_meant)
      TFD_REQUIRES(mutex_);
  /// Answers calls that were taken and aren't run; the answers that are held go first.
  void return_unrun(std::deque<Job> jobs) TFD_EXCLUDES(mutex_);
  /// Removes the waiting jobs of these callers, and stops their running one as far as possible.
  std::vector<Job> abandon(const std::function<bool(std::uint64_t)>& is_theirs) TFD_REQUIRES(mutex_);
  bool is_abandoned() const;
  Error fenced_off() const;
  /// The answer; none if it follows, by the job's responder.
  Result<std::optional<transport::Message>> answer(Job& job, const DropWaiting& dropping, const std::stop_token& stop);
  /// Runs a closure. Where another one waits its update may still be in flight: then that one is begun, and the answer
  /// follows the update's.
  Result<std::optional<transport::Message>> run(Job& job, const step::FunctionCall& call, const std::stop_token& stop);
  /// The same where updates are staged: the answer has a place among those of the closures before.
  void answer_staged(Job& job, const step::FunctionCall& call, ClosureExecutor::Run run);
  Error failed_update(std::uint64_t epoch, const std::string& function, Error error) const;
  bool has_next() const;
  /// Answers closures whose updates are made: several at once while others wait.
  void hold(transport::Responder responder, transport::Message outcome) TFD_EXCLUDES(mutex_);
  void send_held() TFD_EXCLUDES(mutex_);
  Result<transport::Message> finish_load(std::uint64_t epoch, Result<transport::Message> loaded);
  Result<void> check_epoch(const transport::Message& request) const;

  transport::Endpoint& endpoint_;
  Activity activity_;
  ClosureExecutor executor_;
  Clock::time_point driven_{};  // the executor's: when it did the endpoint's I/O last
  /// The executor's, of the program that was loaded last; shared with answers that follow their updates.
  std::shared_ptr<StagedAnswers> staged_ = std::make_shared<StagedAnswers>();

  mutable Mutex mutex_;
  std::condition_variable_any wake_;
  std::deque<Job> jobs_ TFD_GUARDED_BY(mutex_);
  std::stop_source stop_;
  /// Stops the running job, when the service stops or nobody waits for its answer.
  std::stop_source job_stop_ TFD_GUARDED_BY(mutex_);
  std::optional<std::uint64_t> running_ TFD_GUARDED_BY(mutex_);  // caller of the running job
  std::optional<std::uint64_t> served_ TFD_GUARDED_BY(mutex_);   // caller of the last job, while connected
  bool is_abandoned_ TFD_GUARDED_BY(mutex_) = false;             // nobody waits for the running job's answer
  bool has_stopped_ TFD_GUARDED_BY(mutex_) = false;  // commands of a gone caller were stopped; reset by the next job
  DropWaiting drop_ TFD_GUARDED_BY(mutex_);
  std::atomic<std::uint64_t> newest_{0};  // epoch of the newest load request
  std::atomic<std::uint64_t> closures_done_{0};
  int in_flight_ TFD_GUARDED_BY(mutex_) = 0;  // closures whose answer follows their update's
  using Held = std::vector<std::pair<transport::Responder, transport::Message>>;
  Held held_ TFD_GUARDED_BY(mutex_);  // answers
  std::jthread thread_;
};

}  // namespace tfd::task
