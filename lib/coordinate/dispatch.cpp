// SPDX-License-Identifier: Apache-2.0
//
// Closures to workers and back. Everything here runs on the endpoint's I/O thread, but post_dispatch().
#include <algorithm>
#include <cmath>

#include "coordinator.hpp"

namespace tfd::coordinate {
namespace {

constexpr Duration kWindowWork = std::chrono::milliseconds(20);  // how much work a worker should have at hand
constexpr Duration kWindowSlice = std::chrono::milliseconds(5);  // how long its speed is measured for

}  // namespace

void Window::answered(Clock::time_point now) {
  if (counted_++ == 0) {
    start_ = now;
    return;
  }
  const auto elapsed = now - start_;
  if (elapsed < kWindowSlice) return;
  const double per_closure = std::chrono::duration<double>(elapsed).count() / static_cast<double>(counted_ - 1);
  const double wanted = std::ceil(std::chrono::duration<double>(kWindowWork).count() / per_closure);
  size_ = std::clamp(wanted < static_cast<double>(most_) ? static_cast<std::size_t>(wanted) : most_,
                     std::min(least_, most_), most_);
  counted_ = 1;
  start_ = now;
}

void Coordinator::post_dispatch(const Lock&) {
  if (dispatch_posted_) return;
  dispatch_posted_ = true;
  endpoint_->post([this] {
    {
      const Lock lock(mutex_);
      dispatch_posted_ = false;
    }
    dispatch();
  });
}

void Coordinator::dispatch() {
  // A request may be answered while it is being made (the worker is lost), and that dispatches again.
  dispatch_again_ = true;
  if (dispatching_) return;
  dispatching_ = true;
  while (std::exchange(dispatch_again_, false))
    for (const Dispatched& one : take_closures()) send(one);
  dispatching_ = false;
  balance_soon();
}

std::vector<Coordinator::Dispatched> Coordinator::take_closures() {
  std::vector<Dispatched> taken;
  const Lock lock(mutex_);
  if (fatal_ || (options_.commands && closing_)) return taken;
  if (queue_.queued() == 0 || queue_.has_error()) return taken;  // there may be a thousand workers to look at
  const bool was_full = queue_.full();
  // First to whoever has nothing to do: what is sent behind another closure waits for that one, however long it takes.
  if (hand_out(lock, Share::kWhatRuns, taken)) hand_out(lock, Share::kWindow, taken);
  if (was_full && !queue_.full()) room_.notify_all();
  return taken;
}

// In turn to the workers that hold less than their share. False: nothing is queued any more.
bool Coordinator::hand_out(const Lock&, Share share, std::vector<Dispatched>& taken) {
  std::size_t passed_over = 0;
  while (passed_over < workers_.size()) {
    const std::size_t index = next_worker_;
    Worker& worker = workers_[index];
    next_worker_ = (next_worker_ + 1) % workers_.size();
    const std::size_t most = share == Share::kWindow ? worker.window.size() : worker.window.at_once();
    if (worker.state != WorkerState::kReady || worker.paused || worker.held.size() >= most ||
        (worker.runs_alone && !worker.held.empty())) {
      ++passed_over;
      continue;
    }
    const auto id = queue_.has_error() ? std::nullopt : queue_.next();
    if (!id) {
      next_worker_ = index;
      return false;
    }
    const bool runs_alone = closures_.at(*id)->runs_alone;
    if (runs_alone && !worker.held.empty()) {  // for a worker that holds nothing; what is queued behind it waits, too
      ++passed_over;
      continue;
    }
    worker.runs_alone = runs_alone;
    (void)queue_.take();
    passed_over = 0;
    const ClosurePtr& closure = closures_.at(*id);
    if (!closure->sequenced) {
      closure->sequenced = true;
      closure->call.sequence = closure->updates ? next_sequence_++ : runtime::kWithoutUpdates | *id;
    }
    closure->turn = next_turn_++;
    if (closure->call.attempt > 0) returned_.erase(*id);
    if (worker.held.empty()) {
      worker.since = Clock::now();
      worker.window.idle();
    }
    worker.held.insert(*id);
    taken.push_back({index, worker.generation, closure});
  }
  return true;
}

void Coordinator::send(const Dispatched& one) {
  if (one.closure->command) return send_command(one);
  workers_[one.worker].client->run(
      one.closure->call, Deadline::never(),
      [this, one](Result<runtime::ClosureOutcome> outcome) { ran(one, std::move(outcome)); });
}

// True where the closure was put back, to be tried again.
bool Coordinator::server_failed(const Dispatched& one, const Error& error) {
  bool passes = false;
  {
    const Lock lock(mutex_);
    Worker& worker = workers_[one.worker];
    if (worker.generation != one.generation || !worker.held.contains(one.closure->id)) return true;  // too late
    passes = transient_ && transient_->pass(error);
    // TensorFlow's timeout is the closure's own error.
    if (transient_ && !passes && classify(error) == Failure::kTimeout) return false;
    worker.held.erase(one.closure->id);
    std::vector<ClosurePtr> cancelled;
    put_back(lock, one.closure->id, {Code::kCancelled, "its parameter server failed meanwhile", {}}, cancelled);
    announce_idle(lock);
    if (!cancelled.empty()) endpoint_->post([cancelled] { call_back(cancelled); });
  }
  send_aftermath();
  if (!transient_) {
    server_reported(one.worker, one.generation, error);
  } else if (passes) {
    options_.log.info("{}: {}; trying again", error.task.empty() ? workers_[one.worker].name : error.task,
                      error.message);
    dispatch();
  } else {
    server_lost(*std::ranges::find(servers_, error.task, &Server::name), error.message);
  }
  return true;
}

void Coordinator::ran(const Dispatched& one, Result<runtime::ClosureOutcome> outcome) {
  if (!outcome) {
    Error error = outcome.error();
    // Cancelled: a worker that is stopping says so of what it hadn't begun.
    if (error.code == Code::kCancelled || (error.code == Code::kUnavailable && error.task.empty()))
      error.task = workers_[one.worker].name;
    const Failure failure = classify(error);
    if (failure == Failure::kWorker && error.task == workers_[one.worker].name && error.code != Code::kAborted)
      return worker_lost(one.worker, one.generation, error.message, error.code != Code::kCancelled);
    const bool of_server = failure == Failure::kServer || failure == Failure::kTimeout;
    const bool of_timeout = transient_ && failure == Failure::kTimeout;
    if (of_server && (is_server(error.task) || of_timeout) && server_failed(one, error)) return;
    if (error.code == Code::kPermissionDenied && !one.closure->command) return may_be_fenced(one, std::move(error));
  } else if (outcome->dropped) {
    return was_dropped(one);
  }
  ended(one, std::move(outcome));
}

// A task that belongs to somebody else by now: to a newer coordinator, or to one that came and went. What else isn't
// permitted is the function's own error.
void Coordinator::may_be_fenced(const Dispatched& one, Error error) {
  const auto as_it_is = [this, one, error] { ended(one, fail(error)); };
  const auto look_at_worker = [this, one, as_it_is] {
    workers_[one.worker].client->status(
        Deadline::after(kStatusAnswer), [this, one, as_it_is](const Result<runtime::TaskStatus>& status) {
          if (!status || status->epoch == epoch_) return as_it_is();
          worker_lost(one.worker, one.generation, "it holds another coordinator's program", false);
        });
  };
  if (servers_.empty()) return look_at_worker();
  servers_.front().client->status(Deadline::after(kStatusAnswer),
                                  [this, error, as_it_is, look_at_worker](const Result<runtime::TaskStatus>& status) {
                                    if (!status) return as_it_is();
                                    if (status->epoch != epoch_) return fenced_off(error);
                                    look_at_worker();
                                  });
}

/// Nothing of this run is taken any more.
void Coordinator::fenced_off(const Error& error) {
  {
    const Lock lock(mutex_);
    fenced_ = true;
  }
  end_all({Code::kPermissionDenied, "another coordinator has taken the cluster over: " + error.message, error.task});
}

void Coordinator::ended(const Dispatched& one, Result<runtime::ClosureOutcome> outcome) {
  bool has_aftermath = false;
  {
    const Lock lock(mutex_);
    Worker& worker = workers_[one.worker];
    if (worker.generation != one.generation || worker.held.erase(one.closure->id) == 0) return;  // it was migrated
    const auto now = Clock::now();
    worker.since = now;
    worker.window.answered(now);
    worker.server_trouble_since = {};
    worker.backoff = std::chrono::seconds(1);
    ++progress_;
    complete(lock, one, std::move(outcome));
    announce_idle(lock);
    has_aftermath = is_aftermath_due(lock);
  }
  if (has_aftermath) send_aftermath();
  call_back({one.closure});
  dispatch();
}

// It waited at its worker when another one failed. It ends as what waited here does.
void Coordinator::was_dropped(const Dispatched& one) {
  std::vector<ClosurePtr> cancelled;
  {
    const Lock lock(mutex_);
    Worker& worker = workers_[one.worker];
    if (worker.generation != one.generation || worker.held.erase(one.closure->id) == 0) return;  // it was migrated
    worker.since = Clock::now();
    ++progress_;
    const Error none{Code::kCancelled, "its worker dropped it", {}};
    put_back(lock, one.closure->id, queue_.error().value_or(none), cancelled);
    announce_idle(lock);
  }
  send_aftermath();
  call_back(cancelled);
  dispatch();
}

void Coordinator::complete(const Lock& lock, const Dispatched& one, Result<runtime::ClosureOutcome> outcome) {
  Closure& closure = *one.closure;
  if (outcome) {
    closure.value->set_outcome(std::move(*outcome));
    queue_.finished(closure.id);
  } else {
    Error error = std::move(outcome).error();
    if (error.task.empty()) error.task = workers_[one.worker].name;
    fenced_ = fenced_ || error.code == Code::kPermissionDenied;
    return fail_closure(lock, closure, std::move(error));
  }
  // An earlier attempt may still be on its way from a worker that is frozen: nothing of it may come after a join.
  if (closure.call.attempt > 0)
    raise_fence(lock, closure);
  else if (closure.updates)
    ended_.insert(closure.call.sequence);
  closures_.erase(closure.id);
}

void Coordinator::fail_closure(const Lock& lock, Closure& closure, Error error) {
  closure.value->set_error(error);
  const bool first = !queue_.has_error();
  queue_.failed(closure.id, std::move(error));
  raise_fence(lock, closure);
  if (first && queue_.has_error()) {
    failed_id_ = closure.id;
    drop_is_due_ = true;
    for (const ClosureId id : returned_) raise_fence(lock, *closures_.at(id));  // they end cancelled
    returned_.clear();
  }
  closures_.erase(closure.id);
}

void Coordinator::put_back(const Lock& lock, ClosureId id, const Error& why, std::vector<ClosurePtr>& cancelled) {
  const auto found = closures_.find(id);
  if (queue_.put_back(id)) {
    found->second->value->set_cancelled(why, failed_id_);
    raise_fence(lock, *found->second);
    cancelled.push_back(found->second);
    closures_.erase(found);
    return;
  }
  ++found->second->call.attempt;
  returned_.insert(id);
}

void Coordinator::announce_idle(const Lock& lock) {
  if (is_executing(lock)) return;
  if (queue_.queued() == 0 || queue_.has_error()) idle_.notify_all();
  if (queue_.has_error()) room_.notify_all();
}

void Coordinator::call_back(const std::vector<ClosurePtr>& closures) {
  for (const ClosurePtr& closure : closures)
    if (closure->on_done) closure->on_done(RemoteValue(closure->value));
}

}  // namespace tfd::coordinate
