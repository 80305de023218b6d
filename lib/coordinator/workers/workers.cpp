// SPDX-License-Identifier: Apache-2.0
//
// New workers: one that comes up gets the program, then its iterators, then closures. Everything here runs on the
// endpoint's I/O thread. Lost workers: worker_loss.cpp.
#include <algorithm>

#include "coordinator.hpp"
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
  return workers_.find_member(name);
}

/// Handles a worker that refuses us: another key, or another version.
void Coordinator::worker_refused(const transport::PeerEvent& event) {
  if (is_server(event.name)) return;  // its requests have failed
  const MutexLock lock(mutex_);
  workers_.refused(event.name, {*event.refused, fmt::format("{} {}", event.name, event.reason), event.name},
                   Clock::now());
  changed_.notify_all();
}

void Coordinator::on_worker_up(std::size_t index, transport::Incarnation incarnation) {
  const bool was_replaced = [&] {
    const MutexLock lock(mutex_);
    return workers_.was_replaced(index, incarnation);
  }();
  if (was_replaced) worker_lost(index, std::nullopt, "it was restarted");
  std::optional<std::uint64_t> generation;
  {
    const MutexLock lock(mutex_);
    if (fatal_ || closing_) return;
    generation = workers_.up(index, incarnation, servers_ready_, Clock::now());
    changed_.notify_all();
  }
  if (generation) load_worker(index, *generation);
}

void Coordinator::load_worker(std::size_t index, std::uint64_t generation) {
  if (sessions_) return open_session(index, generation);
  task::WorkerOrders orders{.data_seed = options_.data_seed, .stages = options_.strict};
  {
    const MutexLock lock(mutex_);
    orders.shuffle_stream = shuffle_stream_of(workers_[index]);
    orders.steps_taken = workers_[index].data().steps;
  }
  client_of(index).load_worker(
      packed_, epoch_, Deadline::after(kLoadTimeout),
      [this, index, generation](int replicas) { on_replicas_known(index, generation, replicas); },
      [this, index, generation](Result<void> loaded) {
        if (!loaded) return load_failed(index, generation, std::move(loaded).error());
        {
          const MutexLock lock(mutex_);
          if (!workers_.program_loaded(index, generation)) return;
          resources_.begin(index);
        }
        make_iterators(index, generation);
      },
      orders);
  endpoint_->post_at(Clock::now() + std::chrono::duration_cast<Clock::duration>(kOccupied),
                     [this, index, generation] { ask_what_it_does(index, generation); });
}

// An earlier coordinator's call that can't be interrupted, such as XLA's, must end before anything else is done.
void Coordinator::ask_what_it_does(std::size_t index, std::uint64_t generation) {
  {
    const MutexLock lock(mutex_);
    if (!workers_.is_loading_program(index, generation)) return;
  }
  client_of(index).status(
      Deadline::after(kStatusAnswer), [this, index, generation](const Result<task::TaskStatus>& status) {
        if (!status || !status->is_abandoned || status->doing.empty()) return;
        const std::string what = fmt::format("still running '{}' of an earlier coordinator", status->doing);
        {
          const MutexLock lock(mutex_);
          if (!workers_.occupied(index, generation, what)) return;
        }
        options_.log.warning("waiting for {}, which is {}", name_of(index), what);
      });
}

void Coordinator::on_replicas_known(std::size_t index, std::uint64_t generation, int replicas) {
  std::optional<WorkerPool::Mismatch> mismatch;
  {
    const MutexLock lock(mutex_);
    mismatch = workers_.replicas_known(index, generation, replicas, copies_.empty() ? 0 : copies_.replicas());
    changed_.notify_all();
  }
  if (!mismatch) return;
  if (mismatch->is_fatal) return end_all(std::move(mismatch->error));
  load_failed(index, generation, std::move(mismatch->error));
}

void Coordinator::load_failed(std::size_t index, std::uint64_t generation, Error error) {
  std::optional<WorkerPool::Retry> retry;
  bool is_news = false;
  {
    const MutexLock lock(mutex_);
    retry = workers_.load_failed(index, generation, error, Clock::now());
    if (!retry) return;
    fenced_ = fenced_ || error.code == Code::kPermissionDenied;
    // A task that only this worker can't reach won't be reported by others.
    is_news = workers_.any_was_ready() && !closing_ && (!retry->may_pass || is_server(error.task));
    changed_.notify_all();
  }
  if (is_news)
    options_.log.warning("{} can't be used; trying again in {}: {}", name_of(index), format_duration(retry->pause),
                         error.message);
  if (error.code == Code::kPermissionDenied) confirm_claim();
  retry_worker_after(index, retry->pause);
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
    if (!workers_.may_create(index, generation)) return;
    if (const auto* iterators = resources_.take_next(index)) {
      next = *iterators;
      stream = shuffle_stream_of(workers_[index]);
      workers_.creates(index);
    }
    changed_.notify_all();
  }
  if (!next) return worker_ready(index, generation, Window(options_.window));
  client_of(index).create_iterator(
      next->id, next->dataset, Deadline::after(kLoadTimeout),
      [this, index, generation, number = next->number](Result<void> made) {
        iterator_made(index, generation, number, std::move(made));
      },
      stream);
}

void Coordinator::iterator_made(std::size_t index, std::uint64_t generation, std::uint64_t number, Result<void> made) {
  using Creation = WorkerResources::Creation;
  Creation creation{};
  {
    const MutexLock lock(mutex_);
    if (!workers_.created(index, generation)) return;
    creation = resources_.created(number, index, made);
    if (creation == Creation::kMade) stall_.progressed();
    changed_.notify_all();
  }
  if (creation == Creation::kWorkerLost) return worker_lost(index, generation, made.error().message);
  if (creation == Creation::kWorkerUnfit) return load_failed(index, generation, std::move(made).error());
  make_iterators(index, generation);
}

void Coordinator::worker_ready(std::size_t index, std::uint64_t generation, Window window) {
  std::optional<WorkerPool::Ready> ready;
  {
    const MutexLock lock(mutex_);
    ready = workers_.ready(index, generation, window, Clock::now());
    if (!ready) return;
    resources_.refresh(index);
    stall_.progressed();
    changed_.notify_all();
  }
  if (ready->is_back) {
    if (options_.on_worker)
      options_.on_worker({name_of(index), false, {}});
    else
      options_.log.warning("{} is back", name_of(index));
  }
  dispatch();
  dispatch_evaluation();
}

}  // namespace tfd::coordinator
