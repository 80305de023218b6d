// SPDX-License-Identifier: Apache-2.0
//
// The coming and going of workers: a worker that comes up gets the program, then its iterators, then closures; what a
// lost one held is put back. Everything here runs on the endpoint's I/O thread.
#include <algorithm>

#include "coordinator.hpp"
#include "tfd/base/text.hpp"
#include "tfd/base/units.hpp"

namespace tfd::coordinate {
namespace {

constexpr Duration kMostBackoff = std::chrono::seconds(30);
constexpr Duration kReconnectPause = std::chrono::milliseconds(100);
constexpr Duration kServerAnswer = std::chrono::seconds(5);
constexpr Duration kOccupied = std::chrono::seconds(1);  // after which one that doesn't load is asked what it does
constexpr std::size_t kSuspicious = 3;                   // workers that a closure is lost with, until the log says so
constexpr Duration kServerTrouble = std::chrono::seconds(15);  // that a worker alone may have with a parameter server

}  // namespace

bool Coordinator::is_server(const std::string& task) const {
  return std::ranges::any_of(servers_, [&](const Server& server) { return server.name == task; });
}

void Coordinator::on_peer(const transport::PeerEvent& event) {
  if (event.refused) return worker_refused(event);
  if (!opened_) return;
  for (const Server& server : servers_) {
    if (server.name != event.name || !servers_ready_) continue;
    if (event.state == transport::PeerState::kLost && !options_.transient) return server_lost(server, event.reason);
    if (event.state == transport::PeerState::kUp && event.incarnation != server.incarnation)
      return server_lost(server, "it was restarted and has lost its variables");
    return;
  }
  for (std::size_t i = 0; i < workers_.size(); ++i) {
    if (workers_[i].name != event.name || workers_[i].has_left) continue;
    if (event.state == transport::PeerState::kUp) worker_up(i, event.incarnation);
    if (event.state == transport::PeerState::kLost) worker_lost(i, std::nullopt, event.reason);
  }
}

/// It answers, but not to us: another key, or another version. Whoever waits for the first worker is told at once.
void Coordinator::worker_refused(const transport::PeerEvent& event) {
  if (is_server(event.name)) return;  // what it was asked has failed
  const Lock lock(mutex_);
  if (!any_ready_ && !load_error_)
    load_error_ = Error{*event.refused, fmt::format("{} {}", event.name, event.reason), event.name};
  changed_.notify_all();
}

void Coordinator::worker_up(std::size_t index, transport::Incarnation incarnation) {
  Worker& worker = workers_[index];
  bool replaced = false;
  {
    const Lock lock(mutex_);
    replaced = worker.state != WorkerState::kAway && worker.incarnation != incarnation;
  }
  if (replaced) worker_lost(index, std::nullopt, "it was restarted");
  std::uint64_t generation = 0;
  {
    const Lock lock(mutex_);
    if (fatal_ || closing_ || worker.has_left) return;
    if (worker.state == WorkerState::kWaiting && servers_ready_) worker.state = WorkerState::kAway;
    if (worker.state != WorkerState::kAway) return;
    worker.incarnation = incarnation;
    worker.state = servers_ready_ ? WorkerState::kLoading : WorkerState::kWaiting;
    worker.since = Clock::now();
    generation = ++worker.generation;
    changed_.notify_all();
    if (worker.state == WorkerState::kWaiting) return;
  }
  load_worker(index, generation);
}

void Coordinator::load_worker(std::size_t index, std::uint64_t generation) {
  if (options_.commands) return open_session(index, generation);
  workers_[index].client->load_worker(
      program_, placement_, epoch_, Deadline::after(kLoadTimeout),
      [this, index, generation](int replicas) { runs(index, generation, replicas); },
      [this, index, generation](Result<void> loaded) {
        if (!loaded) return load_failed(index, generation, std::move(loaded).error());
        {
          const Lock lock(mutex_);
          Worker& worker = workers_[index];
          if (worker.generation != generation) return;
          worker.has_program = true;
          worker.occupied.clear();
          queue_.forget(index);
          for (std::size_t number = 0; number < iterators_.size(); ++number) queue_.put_for(index, number);
        }
        make_iterators(index, generation);
      });
  endpoint_->post_at(Clock::now() + std::chrono::duration_cast<Clock::duration>(kOccupied),
                     [this, index, generation] { ask_what_it_does(index, generation); });
}

// A call of an earlier coordinator's that can't be stopped, as XLA's can't, has to end before anything else is done.
void Coordinator::ask_what_it_does(std::size_t index, std::uint64_t generation) {
  const auto is_loading = [this, index, generation](const Lock&) {
    return workers_[index].generation == generation && workers_[index].state == WorkerState::kLoading &&
           !workers_[index].has_program;
  };
  {
    const Lock lock(mutex_);
    if (!is_loading(lock)) return;
  }
  workers_[index].client->status(
      Deadline::after(kServerAnswer), [this, index, generation, is_loading](const Result<runtime::TaskStatus>& status) {
        if (!status || !status->is_abandoned || status->doing.empty()) return;
        {
          const Lock lock(mutex_);
          if (!is_loading(lock)) return;
          workers_[index].occupied = fmt::format("still runs '{}' of an earlier coordinator", status->doing);
        }
        options_.log.warning("waits for {}, which still runs '{}' of an earlier coordinator", workers_[index].name,
                             status->doing);
      });
}

void Coordinator::runs(std::size_t index, std::uint64_t generation, int replicas) {
  std::optional<Error> mismatch;
  bool is_fatal = false;
  {
    const Lock lock(mutex_);
    Worker& worker = workers_[index];
    if (worker.generation != generation) return;
    worker.replicas = replicas;
    mismatch = check_replicas(lock, worker);
    // The cluster was wrong from the beginning; later a worker that doesn't fit isn't used.
    is_fatal = mismatch && !worker.was_ready && !worker.joined_later;
    if (mismatch)
      worker.replicas = 0;
    else
      replicas_ = replicas;
    changed_.notify_all();
  }
  if (is_fatal) return end_all(std::move(*mismatch));
  if (mismatch) load_failed(index, generation, std::move(*mismatch));
}

// Source: ParameterServerStrategyV2, whose workers must all have the same number of GPUs.
std::optional<Error> Coordinator::check_replicas(const Lock&, const Worker& worker) const {
  const auto devices = [](const Worker& one) {
    return fmt::format("{} has {} device{}", one.name, one.replicas, one.replicas == 1 ? "" : "s");
  };
  for (const Worker& other : workers_)
    if (&other != &worker && other.replicas > 0 && other.replicas != worker.replicas)
      return Error{Code::kInvalidArgument,
                   fmt::format("{} and {}: every worker must have as many (tfd-serve --devices)", devices(other),
                               devices(worker)),
                   worker.name};
  return std::nullopt;
}

void Coordinator::load_failed(std::size_t index, std::uint64_t generation, Error error) {
  Worker& worker = workers_[index];
  Duration pause{};
  bool is_news = false;
  {
    const Lock lock(mutex_);
    if (worker.generation != generation) return;
    ++worker.generation;
    worker.state = WorkerState::kAway;
    worker.replicas = 0;
    worker.has_program = false;
    worker.since = Clock::now();
    worker.reason = error.message;
    fenced_ = fenced_ || error.code == Code::kPermissionDenied;
    pause = worker.backoff;
    worker.backoff = std::min(worker.backoff * 2, kMostBackoff);
    const bool may_pass = error.code == Code::kUnavailable || error.code == Code::kDeadlineExceeded;
    if (error.task.empty()) error.task = worker.name;
    if (!any_ready_ && !may_pass && !load_error_) load_error_ = error;
    changed_.notify_all();
    is_news = any_ready_ && !closing_ && !may_pass;
  }
  if (is_news)
    options_.log.warning("{} can't be used, trying again in {}: {}", worker.name, format_duration(pause),
                         error.message);
  retry_worker_after(index, pause);
}

void Coordinator::retry_worker_after(std::size_t index, Duration pause) {
  endpoint_->post_at(Clock::now() + std::chrono::duration_cast<Clock::duration>(pause), [this, index] {
    const transport::PeerId peer = workers_[index].client->peer();
    if (endpoint_->state(peer) == transport::PeerState::kUp) worker_up(index, endpoint_->incarnation_of(peer));
  });
}

// The iterators that it lacks, one after the other, in the order in which they were asked for; then it is ready.
void Coordinator::make_iterators(std::size_t index, std::uint64_t generation) {
  IteratorDef next;
  std::optional<ClosureId> number;
  {
    const Lock lock(mutex_);
    Worker& worker = workers_[index];
    if (worker.generation != generation || worker.making_iterator) return;
    do number = queue_.take_for(index);
    while (number && iterators_[*number].error);
    if (number) {
      next = iterators_[*number];
      worker.making_iterator = true;
    }
    changed_.notify_all();
  }
  if (!number) return worker_ready(index);
  workers_[index].client->create_iterator(next.id, next.dataset, Deadline::after(kLoadTimeout),
                                          [this, index, generation, number = *number](Result<void> made) {
                                            iterator_made(index, generation, number, std::move(made));
                                          });
}

void Coordinator::iterator_made(std::size_t index, std::uint64_t generation, std::size_t number, Result<void> made) {
  {
    const Lock lock(mutex_);
    Worker& worker = workers_[index];
    if (worker.generation != generation) return;
    worker.making_iterator = false;
    if (made || made.error().code == Code::kAlreadyExists) {  // kept from before the connection was lost
      iterators_[number].made_on.insert(index);
      refresh_values(lock, index);
      ++progress_;
    } else if (made.error().code != Code::kUnavailable && worker.state == WorkerState::kReady) {
      IteratorDef& iterator = iterators_[number];  // nobody has it yet: its creation fails
      iterator.error = made.error();
      if (iterator.error->task.empty()) iterator.error->task = worker.name;
      changed_.notify_all();
    }
  }
  if (!made && made.error().code != Code::kAlreadyExists) {
    if (made.error().code == Code::kUnavailable) return worker_lost(index, generation, made.error().message);
    const bool loading = [&] {
      const Lock lock(mutex_);
      return workers_[index].state == WorkerState::kLoading;
    }();
    if (loading) return load_failed(index, generation, std::move(made).error());
  }
  make_iterators(index, generation);
}

void Coordinator::worker_ready(std::size_t index) {
  bool is_back = false;
  {
    const Lock lock(mutex_);
    Worker& worker = workers_[index];
    if (worker.state != WorkerState::kLoading) return;
    worker.state = WorkerState::kReady;
    worker.paused = false;
    worker.server_trouble_since = {};
    if (!options_.commands) worker.window = Window(options_.window);
    worker.backoff = std::chrono::seconds(1);
    worker.since = Clock::now();
    is_back = std::exchange(worker.was_ready, true);
    refresh_values(lock, index);
    any_ready_ = true;
    ++progress_;
    changed_.notify_all();
  }
  if (is_back) {
    if (options_.on_worker)
      options_.on_worker({workers_[index].name, false, {}});
    else
      options_.log.warning("{} is back", workers_[index].name);
  }
  dispatch();
  dispatch_evaluation();
}

/// What it had begun: a worker runs closures in the order they came.
ClosureId Coordinator::head_of(const Lock&, const Worker& worker) const {
  ClosureId head = 0;
  for (const ClosureId id : worker.held)
    if (head == 0 || closures_.at(id)->turn < closures_.at(head)->turn) head = id;
  return head;
}

/// The error of a closure that may not be tried again; `said` is for the log, once.
std::optional<Error> Coordinator::count_loss(const Lock&, Closure& closure, const std::string& worker,
                                             std::string& said) const {
  closure.died_of.push_back(worker);
  const std::size_t times = closure.died_of.size();
  const auto describe = [&] {
    std::vector<std::string> names = closure.died_of;
    std::ranges::sort(names);
    names.erase(std::unique(names.begin(), names.end()), names.end());
    const std::string label = closure.label.empty() ? fmt::format("closure {}", closure.id) : closure.label;
    return fmt::format("{} ('{}') was what a worker did when it died, {} time{} ({})", label, closure.call.function,
                       times, times == 1 ? "" : "s", join_words(names));
  };
  const bool is_over = options_.max_losses > 0 && times >= static_cast<std::size_t>(options_.max_losses);
  if (times == kSuspicious)
    said = describe() + (is_over ? "" : ": it may be what kills them, and is tried again (--max-losses ends that)");
  if (!is_over) return std::nullopt;
  return Error{Code::kAborted, describe() + ": it isn't tried again", {}};
}

void Coordinator::worker_lost(std::size_t index, std::optional<std::uint64_t> generation, const std::string& reason,
                              bool died) {
  Worker& worker = workers_[index];
  std::vector<ClosurePtr> ended, moved;
  std::size_t migrated = 0;
  std::string suspicion;
  bool was_used = false;
  {
    const Lock lock(mutex_);
    if (worker.state == WorkerState::kAway || (generation && worker.generation != *generation)) return;
    ++worker.generation;
    was_used = worker.state == WorkerState::kReady && !closing_ && !fatal_;
    worker.state = WorkerState::kAway;
    worker.replicas = 0;
    worker.has_program = false;
    worker.making_iterator = false;
    queue_.forget(index);
    for (IteratorDef& iterator : iterators_) iterator.made_on.erase(index);
    refresh_values(lock, index);
    worker.since = Clock::now();
    worker.reason = reason;
    worker.occupied.clear();
    const ClosureId head = died && !options_.commands ? head_of(lock, worker) : 0;
    std::vector<ClosureId> held(worker.held.begin(), worker.held.end());
    std::ranges::sort(held);
    worker.held.clear();
    const Error meanwhile{Code::kCancelled, "its worker was lost meanwhile", {}};
    for (const ClosureId id : held) {
      const ClosurePtr closure = closures_.at(id);
      if (id == head) {
        if (auto over = count_loss(lock, *closure, worker.name, suspicion)) {
          fail_closure(lock, *closure, std::move(*over));
          ended.push_back(closure);
          continue;
        }
      }
      if (closure->on_moved) moved.push_back(closure);
      put_back(lock, id, meanwhile, ended);
    }
    migrated = held.size() - ended.size();
    return_part(lock, index);
    announce_idle(lock);
    changed_.notify_all();
  }
  if (was_used) {
    // Said once: by whoever listens for it, else here.
    if (options_.on_worker)
      options_.on_worker({worker.name, true, reason});
    else
      options_.log.warning("lost {} ({}), {} closures go to others", worker.name, reason, migrated);
  }
  if (!suspicion.empty()) options_.log.warning("{}", suspicion);
  send_aftermath();
  for (const ClosurePtr& closure : moved) closure->on_moved(worker.name, reason);
  call_back(ended);
  dispatch();
  dispatch_evaluation();
  retry_worker_after(index, kReconnectPause);  // where only a request failed: it is up, and no event will say so
}

// One worker says that a parameter server is gone. If it is there for us, it is that worker's trouble, and passes or
// not.
void Coordinator::server_reported(std::size_t index, std::uint64_t generation, const Error& error) {
  const auto server = std::ranges::find(servers_, error.task, &Server::name);
  bool passes = false;
  {
    const Lock lock(mutex_);
    Worker& worker = workers_[index];
    if (fatal_ || worker.generation != generation || worker.paused) return;
    worker.paused = true;
    passes = transient_ && transient_->pass(error);  // of an evaluation: closures' reports were counted
    if (worker.server_trouble_since == Clock::time_point{}) worker.server_trouble_since = Clock::now();
  }
  if (transient_ && !passes) return server_lost(*server, error.message);
  if (passes) {
    options_.log.info("{}: {}, trying again", error.task, error.message);
    return resume_worker_soon(index, generation);
  }
  options_.log.info("{} can't reach {} ({}), asking it", workers_[index].name, error.task, error.message);
  server->client->status(Deadline::after(kServerAnswer),
                         [this, index, generation, server, error](Result<runtime::TaskStatus> status) {
                           if (!status) return server_lost(*server, status.error().message);
                           if (status->incarnation != server->incarnation || status->epoch != epoch_)
                             return server_lost(*server, "it has lost its variables");
                           bool gave_up = false;
                           {
                             const Lock lock(mutex_);
                             gave_up = workers_[index].generation == generation &&
                                       Clock::now() - workers_[index].server_trouble_since > kServerTrouble;
                           }
                           if (gave_up)
                             return server_lost(*server, workers_[index].name + " can't reach it: " + error.message);
                           resume_worker_soon(index, generation);
                         });
}

void Coordinator::resume_worker_soon(std::size_t index, std::uint64_t generation) {
  endpoint_->post_at(Clock::now() + kReconnectPause, [this, index, generation] {
    {
      const Lock lock(mutex_);
      if (workers_[index].generation != generation) return;
      workers_[index].paused = false;
    }
    dispatch();
    dispatch_evaluation();
  });
}

}  // namespace tfd::coordinate
