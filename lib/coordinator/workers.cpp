// SPDX-License-Identifier: Apache-2.0
//
// New workers: one that comes up gets the program, then its iterators, then closures. Everything here runs on the
// endpoint's I/O thread. Lost workers: worker_loss.cpp.
#include <algorithm>

#include "coordinator.hpp"
#include "tfd/base/counted.hpp"
#include "tfd/base/units.hpp"

namespace tfd::coordinator {
namespace {

constexpr Duration kOccupied = std::chrono::seconds(1);  // until the status of a worker that doesn't load is asked for

}  // namespace

bool Coordinator::is_server(const std::string& task) const {
  return std::ranges::any_of(servers_, [&](const Server& server) { return server.name == task; });
}

void Coordinator::on_peer(const transport::PeerEvent& event) {
  if (event.refused) return worker_refused(event);
  if (!opened_) {
    const MutexLock lock(mutex_);
    return changed_.notify_all();  // see find_replicas()
  }
  for (std::size_t i = 0; i < servers_.size(); ++i)
    if (servers_[i].name == event.name) return servers_ready_ ? server_event(i, event) : void();
  const auto worker = find_member(event.name);
  if (!worker) return;
  if (event.state == transport::PeerState::kUp) on_worker_up(*worker, event.incarnation);
  if (event.state == transport::PeerState::kLost) worker_lost(*worker, std::nullopt, event.reason);
}

std::optional<std::size_t> Coordinator::find_member(const std::string& name) const {
  const MutexLock lock(mutex_);
  const auto found = std::ranges::find(workers_, name, &Worker::name);
  if (found == workers_.end() || found->has_left) return std::nullopt;
  return static_cast<std::size_t>(found - workers_.begin());
}

/// Handles a worker that refuses us: another key, or another version.
void Coordinator::worker_refused(const transport::PeerEvent& event) {
  if (is_server(event.name)) return;  // its requests have failed
  const MutexLock lock(mutex_);
  for (std::size_t i = 0; i < workers_.size(); ++i)
    if (workers_[i].name == event.name)
      workers_.cannot_use(i, {*event.refused, fmt::format("{} {}", event.name, event.reason), event.name},
                          Clock::now());
  changed_.notify_all();
}

void Coordinator::on_worker_up(std::size_t index, transport::Incarnation incarnation) {
  bool replaced = false;
  {
    const MutexLock lock(mutex_);
    const Worker& worker = workers_[index];
    replaced = worker.state() != WorkerState::kAway && worker.incarnation != incarnation;
  }
  if (replaced) worker_lost(index, std::nullopt, "it was restarted");
  std::uint64_t generation = 0;
  {
    const MutexLock lock(mutex_);
    Worker& worker = workers_[index];
    if (fatal_ || closing_ || worker.has_left) return;
    const bool has_waited = worker.state() == WorkerState::kWaiting && servers_ready_;
    if (worker.state() != WorkerState::kAway && !has_waited) return;
    if (worker.incarnation != incarnation) workers_.may_do_again(index);
    worker.incarnation = incarnation;
    workers_.become(index, servers_ready_ ? WorkerState::kLoading : WorkerState::kWaiting, Clock::now());
    generation = ++worker.generation;
    changed_.notify_all();
    if (worker.state() == WorkerState::kWaiting) return;
  }
  load_worker(index, generation);
}

void Coordinator::load_worker(std::size_t index, std::uint64_t generation) {
  if (sessions_) return open_session(index, generation);
  task::WorkerOrders orders{.data_seed = options_.data_seed};
  {
    const MutexLock lock(mutex_);
    orders.shuffle_stream = shuffle_stream_of(workers_[index]);
    orders.steps_taken = workers_[index].data.steps;
  }
  client_of(index).load_worker(
      packed_, epoch_, Deadline::after(kLoadTimeout),
      [this, index, generation](int replicas) { on_replicas_known(index, generation, replicas); },
      [this, index, generation](Result<void> loaded) {
        if (!loaded) return load_failed(index, generation, std::move(loaded).error());
        {
          const MutexLock lock(mutex_);
          Worker& worker = workers_[index];
          if (worker.generation != generation) return;
          worker.has_program = true;
          worker.occupied.clear();
          resources_.begin(index);
        }
        make_iterators(index, generation);
      },
      orders);
  endpoint_->post_at(Clock::now() + std::chrono::duration_cast<Clock::duration>(kOccupied),
                     [this, index, generation] { ask_what_it_does(index, generation); });
}

bool Coordinator::is_loading(std::size_t index, std::uint64_t generation) const {
  const Worker& worker = workers_[index];
  return worker.generation == generation && worker.state() == WorkerState::kLoading && !worker.has_program;
}

// An earlier coordinator's call that can't be interrupted, such as XLA's, must end before anything else is done.
void Coordinator::ask_what_it_does(std::size_t index, std::uint64_t generation) {
  {
    const MutexLock lock(mutex_);
    if (!is_loading(index, generation)) return;
  }
  client_of(index).status(
      Deadline::after(kStatusAnswer), [this, index, generation](const Result<task::TaskStatus>& status) {
        if (!status || !status->is_abandoned || status->doing.empty()) return;
        {
          const MutexLock lock(mutex_);
          if (!is_loading(index, generation)) return;
          workers_[index].occupied = fmt::format("still running '{}' of an earlier coordinator", status->doing);
        }
        options_.log.warning("waiting for {}, which is still running '{}' of an earlier coordinator", name_of(index),
                             status->doing);
      });
}

void Coordinator::on_replicas_known(std::size_t index, std::uint64_t generation, int replicas) {
  std::optional<Error> mismatch;
  bool is_fatal = false;
  {
    const MutexLock lock(mutex_);
    Worker& worker = workers_[index];
    if (worker.generation != generation) return;
    worker.replicas = replicas;
    mismatch = check_replicas(worker);
    // Fatal if the cluster was wrong from the beginning; later a worker that doesn't fit isn't used.
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
std::optional<Error> Coordinator::check_replicas(const Worker& worker) const {
  const auto devices = [](const Worker& one) {
    return fmt::format("{} has {}", one.name, counted(static_cast<std::uint64_t>(one.replicas), "device"));
  };
  if (!copies_.empty() && copies_.replicas() != worker.replicas)
    return Error{Code::kInvalidArgument,
                 fmt::format("{}, but variables that are synchronized on read were created for {}: all workers need "
                             "the same number (tfd-serve --devices)",
                             devices(worker), copies_.replicas()),
                 worker.name};
  for (const Worker& other : workers_)
    if (&other != &worker && other.replicas > 0 && other.replicas != worker.replicas)
      return Error{Code::kInvalidArgument,
                   fmt::format("{} and {}: all workers need the same number of devices (tfd-serve --devices)",
                               devices(other), devices(worker)),
                   worker.name};
  return std::nullopt;
}

void Coordinator::load_failed(std::size_t index, std::uint64_t generation, Error error) {
  Duration pause{};
  bool is_news = false;
  {
    const MutexLock lock(mutex_);
    Worker& worker = workers_[index];
    if (worker.generation != generation) return;
    ++worker.generation;
    workers_.become(index, WorkerState::kAway, Clock::now());
    worker.replicas = 0;
    worker.has_program = false;
    worker.reason = error.message;
    fenced_ = fenced_ || error.code == Code::kPermissionDenied;
    pause = worker.take_backoff();
    const bool may_pass = error.code == Code::kUnavailable || error.code == Code::kDeadlineExceeded ||
                          error.code == Code::kCancelled;  // it is stopping: its successor may be usable
    if (error.task.empty()) error.task = worker.name;
    if (!may_pass) workers_.cannot_use(index, error, Clock::now());
    changed_.notify_all();
    // A task that only this worker can't reach won't be reported by others.
    is_news = workers_.any_was_ready() && !closing_ && (!may_pass || is_server(error.task));
  }
  if (is_news)
    options_.log.warning("{} can't be used; trying again in {}: {}", name_of(index), format_duration(pause),
                         error.message);
  retry_worker_after(index, pause);
}

void Coordinator::retry_worker_after(std::size_t index, Duration pause) {
  endpoint_->post_at(Clock::now() + std::chrono::duration_cast<Clock::duration>(pause), [this, index] {
    const transport::PeerId peer = client_of(index).peer();
    if (endpoint_->state(peer) == transport::PeerState::kUp) on_worker_up(index, endpoint_->incarnation_of(peer));
  });
}

// Creates missing iterators one after the other, in the order of their creation; then the worker is ready.
void Coordinator::make_iterators(std::size_t index, std::uint64_t generation) {
  std::optional<WorkerResources::Iterators> next;
  std::uint64_t stream = 0;
  {
    const MutexLock lock(mutex_);
    Worker& worker = workers_[index];
    if (worker.generation != generation || worker.making_iterator) return;
    if (const auto* iterators = resources_.take_next(index)) {
      next = *iterators;
      stream = shuffle_stream_of(worker);
      worker.making_iterator = true;
    }
    changed_.notify_all();
  }
  if (!next) return worker_ready(index);
  client_of(index).create_iterator(
      next->id, next->dataset, Deadline::after(kLoadTimeout),
      [this, index, generation, number = next->number](Result<void> made) {
        iterator_made(index, generation, number, std::move(made));
      },
      stream);
}

void Coordinator::iterator_made(std::size_t index, std::uint64_t generation, std::uint64_t number, Result<void> made) {
  {
    const MutexLock lock(mutex_);
    Worker& worker = workers_[index];
    if (worker.generation != generation) return;
    worker.making_iterator = false;
    if (made || made.error().code == Code::kAlreadyExists) {  // kept since before the connection was lost
      resources_.made(number, index);
      stall_.progressed();
    } else if (made.error().code != Code::kUnavailable && worker.is_ready()) {
      Error error = made.error();
      if (error.task.empty()) error.task = worker.name;
      resources_.fail(number, std::move(error));
      changed_.notify_all();
    }
  }
  if (!made && made.error().code != Code::kAlreadyExists) {
    if (made.error().code == Code::kUnavailable) return worker_lost(index, generation, made.error().message);
    const bool is_missed = [&] {
      const MutexLock lock(mutex_);
      return workers_[index].state() == WorkerState::kLoading && resources_.find(number) != nullptr;
    }();
    if (is_missed) return load_failed(index, generation, std::move(made).error());
  }
  make_iterators(index, generation);
}

void Coordinator::worker_ready(std::size_t index) {
  bool is_back = false;
  {
    const MutexLock lock(mutex_);
    Worker& worker = workers_[index];
    if (worker.state() != WorkerState::kLoading) return;
    is_back = worker.was_ready;
    worker.server_trouble_since = {};
    if (!sessions_) workers_.set_window(index, Window(options_.window));
    workers_.set_paused(index, false);
    workers_.become(index, WorkerState::kReady, Clock::now());
    workers_.became_ready(index);
    resources_.refresh(index);
    stall_.progressed();
    changed_.notify_all();
  }
  if (is_back) {
    if (options_.on_worker)
      options_.on_worker({name_of(index), false, {}});
    else
      options_.log.warning("{} is back", name_of(index));
  }
  dispatch();
  dispatch_evaluation();
}

}  // namespace tfd::coordinator
