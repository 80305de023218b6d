// SPDX-License-Identifier: Apache-2.0
//
// Sends closures to workers and handles their answers. Everything here runs on the endpoint's I/O thread, except
// post_dispatch().
#include <algorithm>

#include "coordinator.hpp"

namespace tfd::coordinator {
namespace {

constexpr auto kAskAgain = std::chrono::milliseconds(200);

}  // namespace

void Coordinator::post_dispatch() {
  if (dispatch_posted_) return;
  dispatch_posted_ = true;
  endpoint_->post([this] {
    {
      const MutexLock lock(mutex_);
      dispatch_posted_ = false;
    }
    dispatch();
  });
}

void Coordinator::dispatch() {
  // A request may be answered while it is being made (the worker is lost), which dispatches recursively.
  dispatch_again_ = true;
  if (dispatching_) return;
  dispatching_ = true;
  while (std::exchange(dispatch_again_, false))
    for (const Assignment& one : assign_closures()) send(one);
  dispatching_ = false;
  rebalance_soon();
}

std::vector<Dispatcher::Assignment> Coordinator::assign_closures() {
  const MutexLock lock(mutex_);
  if (fatal_ || (sessions_ && closing_) || commits_.is_paused()) return {};
  const bool was_full = closures_.full();
  auto assigned = dispatcher_.assign(Clock::now());
  if (was_full && !closures_.full()) room_.notify_all();
  return assigned;
}

void Coordinator::send(const Assignment& one) {
  if (options_.on_ran && one.sent == Clock::time_point()) {
    Assignment timed = one;
    timed.sent = Clock::now();
    return send(timed);
  }
  if (one.closure->command) return send_command(one);
  client_of(one.worker).run(one.closure->call, Deadline::never(), [this, one](Result<task::ClosureOutcome> outcome) {
    on_reply(one, std::move(outcome));
  });
}

// Returns true if the closure was put back, for a retry.
bool Coordinator::server_failed(const Assignment& one, const Error& error) {
  bool passes = false;
  {
    const MutexLock lock(mutex_);
    if (!dispatcher_.holds(one)) return true;  // too late
    passes = health_.pass(error);
    // TensorFlow treats a timeout as the closure's own error.
    if (options_.transient && !passes && classify(error) == Failure::kTimeout) return false;
    const ClosurePtr cancelled =
        dispatcher_.put_back(one, {Code::kCancelled, "its parameter server failed meanwhile", {}});
    announce_idle();
    if (cancelled) endpoint_->post([cancelled] { call_back(*cancelled); });
  }
  send_fences_and_drops();
  if (!options_.transient) {
    server_reported(one.worker, one.generation, error);
  } else if (passes) {
    options_.log.info("{}: {}; trying again", error.task.empty() ? name_of(one.worker) : error.task, error.message);
    dispatch();
  } else {
    server_lost(*std::ranges::find(servers_, error.task, &Server::name), error.message);
  }
  return true;
}

void Coordinator::on_reply(const Assignment& one, Result<task::ClosureOutcome> outcome) {
  if (!outcome) {
    Error error = outcome.error();
    // kCancelled: a worker that is stopping returns closures that hadn't started.
    if (error.code == Code::kCancelled || (error.code == Code::kUnavailable && error.task.empty()))
      error.task = name_of(one.worker);
    const Failure failure = classify(error);
    if (failure == Failure::kWorker && error.task == name_of(one.worker) && error.code != Code::kAborted)
      return worker_lost(one.worker, one.generation, error.message, error.code != Code::kCancelled);
    const bool of_server = failure == Failure::kServer || failure == Failure::kTimeout;
    const bool of_timeout = options_.transient && failure == Failure::kTimeout;
    if (of_server && (is_server(error.task) || of_timeout) && server_failed(one, error)) return;
    if (error.code == Code::kPermissionDenied && !one.closure->command)
      return may_be_fenced(one, std::move(error), Deadline::after(options_.rejoin));
    // A training that fails names its worker: its loss is not finite, or its device has failed.
    if (outcome.error().code == Code::kInternal && outcome.error().task.empty())
      outcome.error().task = name_of(one.worker);
  } else if (outcome->dropped) {
    return on_dropped(one);
  } else if (!outcome->staged_on.empty()) {
    return on_staged(one, std::move(*outcome));
  }
  on_finished(one, std::move(outcome));
}

// Checks whether a refusing task belongs to another coordinator by now, perhaps one that is gone again. Other
// kPermissionDenied errors are the function's own.
void Coordinator::may_be_fenced(const Assignment& one, Error error, Deadline deadline) {
  const auto as_it_is = [this, one, error] { on_finished(one, fail(error)); };
  const auto look_at_worker = [this, one, as_it_is] {
    client_of(one.worker)
        .status(Deadline::after(kStatusAnswer), [this, one, as_it_is](const Result<task::TaskStatus>& status) {
          if (!status || status->epoch == epoch_) return as_it_is();
          worker_lost(one.worker, one.generation, "it holds another coordinator's program", false);
        });
  };
  if (servers_.empty()) return look_at_worker();
  ps_->task(0).status(Deadline::after(kStatusAnswer),
                      [this, one, error, deadline, as_it_is, look_at_worker](const Result<task::TaskStatus>& status) {
                        if (status && status->epoch != epoch_) return fenced_off(error);
                        if (status) return look_at_worker();
                        if (deadline.expired()) return as_it_is();
                        endpoint_->post_at(Clock::now() + kAskAgain,  // it is disconnected, and may return
                                           [this, one, error, deadline] { may_be_fenced(one, error, deadline); });
                      });
}

/// Ends everything: tasks refuse this run's requests.
void Coordinator::fenced_off(const Error& error) {
  {
    const MutexLock lock(mutex_);
    fenced_ = true;
  }
  end_all({Code::kPermissionDenied, "another coordinator has taken the cluster over: " + error.message, error.task});
}

// Answers come in handfuls: what they all lead to is done once, at the end of this turn of the I/O.
void Coordinator::on_finished(const Assignment& one, Result<task::ClosureOutcome> outcome) {
  finished_.push_back({one, std::move(outcome)});
  if (finished_.size() > 1) return;
  endpoint_->post([this] {
    settle_finished();
    dispatch();
  });
}

void Coordinator::settle_finished() {
  if (finished_.empty()) return;
  std::vector<Assignment> ended;
  bool must_tell_tasks = false;
  const Clock::time_point now = Clock::now();
  {
    const MutexLock lock(mutex_);
    for (Finished& one : finished_) {
      const bool is_refused = !one.outcome && one.outcome.error().code == Code::kPermissionDenied;
      if (!dispatcher_.finish(one.of, std::move(one.outcome), now)) continue;  // it has migrated
      fenced_ = fenced_ || is_refused;
      ended.push_back(std::move(one.of));
    }
    if (!ended.empty()) stall_.progressed();
    announce_idle();
    must_tell_tasks = closures_.has_messages();
  }
  finished_.clear();
  if (must_tell_tasks) send_fences_and_drops();
  for (const Assignment& one : ended) {
    if (options_.on_ran)
      options_.on_ran({name_of(one.worker), one.closure->call.function, one.closure->id, one.sent, now});
    call_back(*one.closure);
  }
}

// Handles a closure that waited at its worker when another one failed: it is canceled like queued ones.
void Coordinator::on_dropped(const Assignment& one) {
  std::optional<ClosurePtr> cancelled;
  {
    const MutexLock lock(mutex_);
    cancelled = dispatcher_.returned(one, Clock::now());
    if (!cancelled) return;  // it has migrated
    stall_.progressed();
    announce_idle();
  }
  send_fences_and_drops();
  if (*cancelled) call_back(**cancelled);
  dispatch();
}

void Coordinator::rebalance_soon() {
  {
    const MutexLock lock(mutex_);
    if (!dispatcher_.schedule_rebalance()) return;
  }
  endpoint_->post_at(Clock::now() + std::chrono::duration_cast<Clock::duration>(options_.balance_after),
                     [this] { rebalance(); });
}

void Coordinator::rebalance() {
  Dispatcher::Rebalance found;
  {
    const MutexLock lock(mutex_);
    found = dispatcher_.rebalance(evaluations_.current(), Clock::now());
  }
  for (const Dispatcher::Request& request : found.requests)  // a lost worker holds none
    client_of(request.worker)
        .give_back(epoch_, request.count, sessions_.has_value(), Deadline::never(),
                   [this, request](const Result<void>&) {
                     const MutexLock lock(mutex_);
                     dispatcher_.request_answered(request);
                   });
  if (found.must_wait) rebalance_soon();
}

void Coordinator::announce_idle() {
  if (!closures_.is_over()) return;
  idle_.notify_all();
  if (closures_.has_error()) room_.notify_all();
}

void Coordinator::call_back(const Closure& closure) {
  if (closure.on_done) closure.on_done(RemoteValue(closure.value));
}

void Coordinator::call_back(const ClosurePtrs& closures) {
  for (const ClosurePtr& closure : closures) call_back(*closure);
}

}  // namespace tfd::coordinator
