// SPDX-License-Identifier: Apache-2.0
//
// One closure's way: it is assigned to a worker, sent and answered. Everything here runs on the endpoint's I/O thread.
#include <algorithm>

#include "workers/worker_links.hpp"

namespace tfd::coordinator {
namespace {

constexpr auto kAskAgain = std::chrono::milliseconds(200);

}  // namespace

void WorkerLinks::dispatch() {
  // A request may be answered while it is being made (the worker is lost), which dispatches recursively.
  dispatch_again_ = true;
  if (dispatching_) return;
  dispatching_ = true;
  while (std::exchange(dispatch_again_, false))
    for (const Assignment& one : assign_closures()) send(one);
  dispatching_ = false;
  rebalance_soon();
}

std::vector<Dispatcher::Assignment> WorkerLinks::assign_closures() {
  const MutexLock lock(state_.mutex);
  if (state_.fatal || (sessions_ && state_.closing) || state_.commits.is_paused()) return {};
  const bool was_full = state_.closures.full();
  auto assigned = state_.dispatcher.assign(Clock::now());
  if (was_full && !state_.closures.full()) state_.room.notify_all();
  return assigned;
}

void WorkerLinks::send(const Assignment& one) {
  if (state_.options.on_ran && one.sent == Clock::time_point()) {
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
bool WorkerLinks::server_failed(const Assignment& one, const Error& error) {
  bool passes = false;
  {
    const MutexLock lock(state_.mutex);
    if (!state_.dispatcher.holds(one)) return true;  // too late
    passes = state_.health.pass(error);
    // TensorFlow treats a timeout as the closure's own error.
    if (state_.options.transient && !passes && classify(error) == Failure::kTimeout) return false;
    const ClosurePtr cancelled =
        state_.dispatcher.put_back(one, {Code::kCancelled, "its parameter server failed meanwhile", {}});
    state_.announce_idle();
    if (cancelled) state_.endpoint->post([cancelled] { call_back(*cancelled); });
  }
  send_fences_and_drops();
  if (!state_.options.transient) {
    server_reported(one.worker, one.generation, error);
  } else if (passes) {
    state_.options.log.info("{}: {}; trying again", error.task.empty() ? name_of(one.worker) : error.task,
                            error.message);
    dispatch();
  } else {
    server_links_.lose(*server_links_.find(error.task), error.message);
  }
  return true;
}

void WorkerLinks::on_reply(const Assignment& one, Result<task::ClosureOutcome> outcome) {
  if (!outcome) {
    Error error = outcome.error();
    // kCancelled: a worker that is stopping returns closures that hadn't started.
    if (error.code == Code::kCancelled || (error.code == Code::kUnavailable && error.task.empty()))
      error.task = name_of(one.worker);
    const Failure failure = classify(error);
    if (failure == Failure::kWorker && error.task == name_of(one.worker) && error.code != Code::kAborted)
      return lose(one.worker, one.generation, error.message, error.code != Code::kCancelled);
    const bool of_server = failure == Failure::kServer || failure == Failure::kTimeout;
    const bool of_timeout = state_.options.transient && failure == Failure::kTimeout;
    if (of_server && (server_links_.find(error.task) || of_timeout) && server_failed(one, error)) return;
    if (error.code == Code::kPermissionDenied && !one.closure->command)
      return may_be_fenced(one, std::move(error), Deadline::after(state_.options.rejoin));
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
void WorkerLinks::may_be_fenced(const Assignment& one, Error error, Deadline deadline) {
  const auto as_it_is = [this, one, error] { on_finished(one, fail(error)); };
  const auto look_at_worker = [this, one, as_it_is] {
    client_of(one.worker)
        .status(Deadline::after(kStatusAnswer), [this, one, as_it_is](const Result<task::TaskStatus>& status) {
          if (!status || status->epoch == state_.epoch) return as_it_is();
          lose(one.worker, one.generation, "it holds another coordinator's program", false);
        });
  };
  if (state_.servers.empty()) return look_at_worker();
  server_links_.client_of(0).status(
      Deadline::after(kStatusAnswer),
      [this, one, error, deadline, as_it_is, look_at_worker](const Result<task::TaskStatus>& status) {
        if (status && status->epoch != state_.epoch) return server_links_.fenced_off(error);
        if (status) return look_at_worker();
        if (deadline.expired()) return as_it_is();
        state_.endpoint->post_at(Clock::now() + kAskAgain,  // it is disconnected, and may return
                                 [this, one, error, deadline] { may_be_fenced(one, error, deadline); });
      });
}

// Answers come in handfuls: what they all lead to is done once, at the end of this turn of the I/O.
void WorkerLinks::on_finished(const Assignment& one, Result<task::ClosureOutcome> outcome) {
  finished_.push_back({one, std::move(outcome)});
  if (finished_.size() > 1) return;
  state_.endpoint->post([this] {
    settle_finished();
    dispatch();
  });
}

void WorkerLinks::settle_finished() {
  if (finished_.empty()) return;
  std::vector<Assignment> ended;
  bool must_tell_tasks = false;
  const Clock::time_point now = Clock::now();
  {
    const MutexLock lock(state_.mutex);
    for (Finished& one : finished_) {
      const bool is_refused = !one.outcome && one.outcome.error().code == Code::kPermissionDenied;
      if (!state_.dispatcher.finish(one.from, std::move(one.outcome), now)) continue;  // it has migrated
      state_.fenced = state_.fenced || is_refused;
      ended.push_back(std::move(one.from));
    }
    if (!ended.empty()) state_.stall.progressed();
    state_.announce_idle();
    must_tell_tasks = state_.closures.has_messages();
  }
  finished_.clear();
  if (must_tell_tasks) send_fences_and_drops();
  for (const Assignment& one : ended) {
    if (state_.options.on_ran)
      state_.options.on_ran({name_of(one.worker), one.closure->call.function, one.closure->id, one.sent, now});
    call_back(*one.closure);
  }
}

// Hands staged updates to the parameter servers for commit: the closure needs its worker no more from here on.
void WorkerLinks::on_staged(const Assignment& one, task::ClosureOutcome outcome) {
  for (const std::uint32_t server : outcome.staged_on)
    if (server >= state_.servers.size())
      return on_finished(
          one, fail(Code::kInternal, "its updates are on parameter server {} of {}", server, state_.servers.size()));
  std::vector<Commits::Arrived> arrived;
  {
    const MutexLock lock(state_.mutex);
    if (!state_.dispatcher.holds(one)) return;  // it has migrated
    arrived = state_.commits.arrived(one, std::move(outcome));
    for (Commits::Arrived& next : arrived) {
      const Closure& closure = *next.from.closure;
      if (!state_.dispatcher.staged(next.from, next.outcome.ran, Clock::now())) continue;
      std::vector<std::string> returns = state_.program.find_function(closure.call.function)->returns;
      std::erase_if(returns, [this](const std::string& name) { return is_per_worker(state_.program, name); });
      state_.commits.add(next.from.closure, std::move(next.outcome), std::move(returns));
    }
  }
  for (const auto& [from, staged] : arrived)
    if (state_.options.on_ran)
      state_.options.on_ran(
          {name_of(from.worker), from.closure->call.function, from.closure->id, from.sent, Clock::now()});
  server_links_.send_commits();
  dispatch();
}

// Handles a closure that waited at its worker when another one failed: it is canceled like queued ones.
void WorkerLinks::on_dropped(const Assignment& one) {
  std::optional<ClosurePtr> cancelled;
  {
    const MutexLock lock(state_.mutex);
    cancelled = state_.dispatcher.returned(one, Clock::now());
    if (!cancelled) return;  // it has migrated
    state_.stall.progressed();
    state_.announce_idle();
  }
  send_fences_and_drops();
  if (*cancelled) call_back(**cancelled);
  dispatch();
}

void WorkerLinks::send_fences_and_drops() {
  std::vector<std::uint64_t> sequences;
  std::vector<variable::Attempt> aborts;
  std::vector<task::WorkerClient*> workers;
  ClosureTable::DropBelow below{};
  {
    const MutexLock lock(state_.mutex);
    sequences = state_.closures.take_fences();
    aborts = state_.closures.take_aborts();
    if (const auto drop = state_.closures.take_drop(); drop && !sessions_) {
      below = *drop;
      for (const Worker& worker : state_.workers)
        if (!worker.held().empty()) workers.push_back(&worker.client());
    }
  }
  for (task::WorkerClient* worker : workers)
    worker->drop_waiting(state_.epoch, below.updates, below.others, Deadline::never(),
                         [](const Result<void>&) {});  // dropped ones are answered themselves; a lost worker has none
  server_links_.send_fences(sequences, aborts);
}

void WorkerLinks::rebalance_soon() {
  {
    const MutexLock lock(state_.mutex);
    if (!state_.dispatcher.schedule_rebalance()) return;
  }
  state_.endpoint->post_at(Clock::now() + std::chrono::duration_cast<Clock::duration>(state_.options.balance_after),
                           [this] { rebalance(); });
}

void WorkerLinks::rebalance() {
  Dispatcher::Rebalance found;
  {
    const MutexLock lock(state_.mutex);
    found = state_.dispatcher.rebalance(state_.evaluations.current(), Clock::now());
  }
  for (const Dispatcher::Request& request : found.requests)  // a lost worker holds none
    client_of(request.worker)
        .give_back(state_.epoch, request.count, sessions_.has_value(), Deadline::never(),
                   [this, request](const Result<void>&) {
                     const MutexLock lock(state_.mutex);
                     state_.dispatcher.request_answered(request);
                   });
  if (found.must_wait) rebalance_soon();
}

}  // namespace tfd::coordinator
