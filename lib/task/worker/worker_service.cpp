// SPDX-License-Identifier: Apache-2.0
#include "worker_service.hpp"

#include <algorithm>

#include "client/server_operation.hpp"

namespace tfd::task {
namespace {

constexpr Duration kUnseen = std::chrono::microseconds(100);  // that answers, and what arrives, may wait for the I/O

}  // namespace

WorkerService::WorkerService(transport::Endpoint& endpoint, const TaskServerOptions& options)
    : endpoint_(endpoint), executor_(endpoint, options, activity_), thread_([this] { execute(stop_.get_token()); }) {}

void WorkerService::stop() {
  std::deque<Job> left;
  {
    const MutexLock lock(mutex_);
    stop_.request_stop();
    job_stop_.request_stop();
    left.swap(jobs_);
  }
  if (thread_.joinable()) thread_.join();
  executor_.end();  // while the endpoint is still there: updates in flight are answered now
  {
    MutexLock lock(mutex_);
    wake_.wait(lock, std::stop_token(), [this]() TFD_REQUIRES(mutex_) { return in_flight_ == 0; });
  }
  send_held();
  for (Job& job : left) job.responder.reply(fail(Code::kCancelled, "this task is stopping"));
}

void WorkerService::submit(const transport::Caller& caller, transport::Message request, transport::Responder responder,
                           std::optional<transport::Message> program) {
  std::vector<Job> ended;
  {
    MutexLock lock(mutex_);
    if (stop_.stop_requested()) {
      lock.unlock();
      return responder.reply(fail(Code::kCancelled, "this task is stopping"));
    }
    if (static_cast<Kind>(request.kind) == Kind::kLoadProgram) {
      if (request.epoch != newest_) {  // none is older: TaskServer has checked
        newest_ = request.epoch;
        ended = abandon([&](std::uint64_t connection) { return connection != caller.connection; });
      }
    }
    jobs_.push_back({std::move(request), std::move(responder), caller.connection, std::move(program)});
    wake_.notify_one();
  }
  for (Job& job : ended) job.responder.reply(fail(fenced_off()));
}

void WorkerService::drop(const DropWaiting& drop) {
  std::deque<Job> dropped;
  {
    const MutexLock lock(mutex_);
    drop_ = drop;  // for later arrivals: a large closure may still be in transfer
    dropped = take_calls(jobs_.size(), [&](const step::FunctionCall& call) { return drop.includes(call); });
  }
  return_unrun(std::move(dropped));
}

void WorkerService::give_back(const GiveBack& give_back) {
  std::deque<Job> given;
  {
    const MutexLock lock(mutex_);
    given = take_calls(give_back.count, [&](const step::FunctionCall& call) { return call.epoch == give_back.epoch; });
  }
  return_unrun(std::move(given));
}

void WorkerService::return_unrun(std::deque<Job> jobs) {
  send_held();  // perhaps none waits now
  for (Job& job : jobs) job.responder.reply(encode_empty(Kind::kDrop));
}

// Takes at most `count` calls, the latest ones, in their order.
std::deque<WorkerService::Job> WorkerService::take_calls(
    std::size_t most, const std::function<bool(const step::FunctionCall&)>& is_meant) {
  std::deque<Job> kept, taken;
  for (; !jobs_.empty(); jobs_.pop_back()) {
    const bool is_call = taken.size() < most && static_cast<Kind>(jobs_.back().request.kind) == Kind::kRun;
    const auto call = is_call ? decode_call(jobs_.back().request) : fail(Code::kNotFound, "no call");
    (call && is_meant(*call) ? taken : kept).push_front(std::move(jobs_.back()));
  }
  jobs_.swap(kept);
  return taken;
}

void WorkerService::caller_gone(const transport::Caller& caller) {
  std::vector<Job> ended;
  {
    const MutexLock lock(mutex_);
    ended = abandon([&](std::uint64_t connection) { return connection == caller.connection; });
  }
  for (Job& job : ended) job.responder.reply(fail(Code::kCancelled, "the client that asked is gone"));
}

std::vector<WorkerService::Job> WorkerService::abandon(const std::function<bool(std::uint64_t)>& is_theirs) {
  std::deque<Job> kept;
  std::vector<Job> ended;
  for (Job& job : jobs_) {
    if (is_theirs(job.connection))
      ended.push_back(std::move(job));
    else
      kept.push_back(std::move(job));
  }
  jobs_.swap(kept);
  if (running_ && is_theirs(*running_) && !is_abandoned_) {
    is_abandoned_ = true;
    job_stop_.request_stop();
    executor_.commands().request();
  }
  if (!running_ && served_ && is_theirs(*served_)) {  // stops kept filters: their caller is gone
    served_.reset();
    has_stopped_ = true;
    executor_.commands().request();
  }
  return ended;
}

bool WorkerService::is_abandoned() const {
  const MutexLock lock(mutex_);
  return is_abandoned_;
}

Error WorkerService::fenced_off() const {
  return {Code::kPermissionDenied,
          fmt::format("this worker belongs to a newer coordinator (epoch {})", newest_.load()),
          {}};
}

void WorkerService::fill(TaskStatus& status) const {
  {
    const MutexLock lock(mutex_);
    status.closures_waiting = jobs_.size();
    status.is_abandoned = is_abandoned_;
  }
  status.closures_done = closures_done_;
  status.epoch = epoch();
  activity_.fill(status);
}

void WorkerService::drive(const std::stop_token& stop) {
  if (!has_next()) send_held();
  if (has_next() && Clock::now() - std::max(driven_, executor_.driven()) < kUnseen) return;
  endpoint_.drive([this] { return has_next(); }, stop, kDrivenAtMost);
  driven_ = Clock::now();
}

void WorkerService::execute(std::stop_token stop) {
  MutexLock lock(mutex_);
  while (wake_.wait(lock, stop, [this]() TFD_REQUIRES(mutex_) { return !jobs_.empty(); }) && !stop.stop_requested()) {
    if (std::exchange(has_stopped_, false)) {
      lock.unlock();
      executor_.forget_stopped();
      lock.lock();
      executor_.commands().clear();
      continue;
    }
    std::optional<Job> job = std::move(jobs_.front());
    jobs_.pop_front();
    running_ = served_ = job->connection;
    job_stop_ = std::stop_source();
    if (stop.stop_requested()) job_stop_.request_stop();
    const std::stop_token job_stop = job_stop_.get_token();
    const DropWaiting dropping = drop_;
    lock.unlock();
    auto reply = answer(*job, dropping, job_stop);
    activity_.end();  // before the answer, so that its receiver doesn't see it still at work
    if (!reply && is_abandoned())
      reply = fail(fenced_off());
    else if (!reply && reply.error().code == Code::kCancelled && stop.stop_requested())
      reply = fail(Code::kCancelled, "this task is stopping");
    if (!reply)
      job->responder.reply(fail(std::move(reply).error()));
    else if (*reply)
      job->responder.reply(std::move(**reply));
    job.reset();  // releases its tensors before the next wait
    lock.lock();
    running_.reset();
    has_stopped_ = std::exchange(is_abandoned_, false) || has_stopped_;
    lock.unlock();
    drive(stop);
    lock.lock();
  }
}

// The request's epoch was the newest when it was queued after its program's load; that may have failed, or another
// program may be loaded by now.
Result<void> WorkerService::check_epoch(const transport::Message& request) const {
  const bool is_load = static_cast<Kind>(request.kind) == Kind::kLoadProgram;
  if (is_load ? !is_older(request.epoch, epoch()) : request.epoch == epoch() && epoch() != 0) return {};
  return fail(Code::kPermissionDenied, "this worker holds another program (epoch {}, the request has {})", epoch(),
              request.epoch);
}

Result<std::optional<transport::Message>> WorkerService::answer(Job& job, const DropWaiting& dropping,
                                                                const std::stop_token& stop) {
  const transport::Message& request = job.request;
  TFD_TRY(check_epoch(request));
  if (static_cast<Kind>(request.kind) == Kind::kLoadProgram)
    return finish_load(request.epoch, executor_.load(request, job.program, stop));
  if (static_cast<Kind>(request.kind) != Kind::kRun) {
    send_held();  // nobody is to take them for what ends with this worker, should it
    return executor_.answer(request, stop);
  }
  const step::FunctionCall call = TFD_TRY(decode_call(request));
  if (dropping.includes(call)) return encode_empty(Kind::kDrop);
  return run(job, call, stop);
}

Result<std::optional<transport::Message>> WorkerService::run(Job& job, const step::FunctionCall& call,
                                                             const std::stop_token& stop) {
  ClosureExecutor::Run run = TFD_TRY(executor_.run(call, stop, [this] { return has_next(); }));
  if (!run.outcome.staged_on.empty()) {
    answer_staged(job, call, std::move(run));
    return std::nullopt;
  }
  if (!run.update) {
    ++closures_done_;
    return encode(run.outcome);
  }
  {
    const MutexLock lock(mutex_);
    ++in_flight_;
  }
  const auto responder = std::make_shared<transport::Responder>(std::move(job.responder));  // std::function copies
  run.update->then([this, responder, outcome = std::move(run.outcome), name = call.function,
                    epoch = call.epoch](Result<void> updated) {
    if (updated) ++closures_done_;
    if (updated)
      hold(std::move(*responder), encode(outcome));
    else
      responder->reply(fail(failed_update(epoch, name, std::move(updated).error())));
    const MutexLock lock(mutex_);
    if (--in_flight_ == 0) wake_.notify_all();
  });
  return std::nullopt;
}

// The coordinator is woken for several, and while half of those that wait run it has the time to send more.
void WorkerService::hold(transport::Responder responder, transport::Message outcome) {
  std::size_t held = 0, waiting = 0;
  {
    const MutexLock lock(mutex_);
    held_.emplace_back(std::move(responder), std::move(outcome));
    held = held_.size();
    waiting = jobs_.size();
  }
  if (held >= std::min(waiting, kAnswersTogether)) return send_held();
  if (held == 1) endpoint_.post_at(Clock::now() + kAnswerHeld, [this] { send_held(); });
}

void WorkerService::send_held() {
  Held held;
  {
    const MutexLock lock(mutex_);
    held.swap(held_);
  }
  for (auto& [responder, outcome] : held) responder.reply(std::move(outcome));
}

Error WorkerService::failed_update(std::uint64_t epoch, const std::string& function, Error error) const {
  if (epoch != newest_) return fenced_off();
  if (error.code == Code::kCancelled) return {Code::kCancelled, "this task is stopping", {}};
  return std::move(error).within(function);
}

void WorkerService::answer_staged(Job& job, const step::FunctionCall& call, ClosureExecutor::Run run) {
  {
    const MutexLock lock(mutex_);
    ++in_flight_;
  }
  const auto responder = std::make_shared<transport::Responder>(std::move(job.responder));  // std::function copies
  const auto outcome = std::make_shared<ClosureOutcome>(std::move(run.outcome));            // the same
  const auto staged = [this, responder, outcome, answers = staged_, place = staged_->take_place(), name = call.function,
                       epoch = call.epoch](Result<void> updated) {
    if (updated) {
      ++closures_done_;
      answers->fill(*place, [responder, outcome](std::uint64_t number) {
        outcome->staged_after = number;
        responder->reply(encode(*outcome));
      });
    } else {
      responder->reply(fail(failed_update(epoch, name, std::move(updated).error())));
      answers->fill(*place, {});
    }
    const MutexLock lock(mutex_);
    if (--in_flight_ == 0) wake_.notify_all();
  };
  if (run.update)
    run.update->then(staged);
  else
    staged({});
}

bool WorkerService::has_next() const {
  const MutexLock lock(mutex_);
  return !jobs_.empty();
}

// Finishes a load; if it failed, the previous program stays.
Result<transport::Message> WorkerService::finish_load(std::uint64_t epoch, Result<transport::Message> loaded) {
  if (loaded) staged_ = std::make_shared<StagedAnswers>();
  const MutexLock lock(mutex_);
  if (!loaded && newest_ == epoch) newest_ = executor_.epoch();
  const bool has_newer = std::ranges::any_of(jobs_, [&](const Job& job) {
    return static_cast<Kind>(job.request.kind) == Kind::kLoadProgram && job.request.epoch == newest_;
  });
  if (loaded && !has_newer) newest_ = epoch;  // an earlier attempt at it had failed
  return loaded;
}

}  // namespace tfd::task
