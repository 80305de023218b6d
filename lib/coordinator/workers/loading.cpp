// SPDX-License-Identifier: Apache-2.0
//
// New workers: one that comes up gets the program, then its iterators, then closures. Everything here runs on the
// endpoint's I/O thread. Lost workers: worker_loss.cpp.
#include <algorithm>

#include "tfd/base/units.hpp"
#include "workers/worker_links.hpp"

namespace tfd::coordinator {
namespace {

constexpr Duration kOccupied = std::chrono::seconds(1);  // until the status of a worker that doesn't load is asked for

}  // namespace

void WorkerLinks::load_those_up() {
  for (std::size_t i = 0; i < count_workers(); ++i) {
    const transport::PeerId peer = client_of(i).peer();
    if (state_.endpoint->state(peer) == transport::PeerState::kUp) on_up(i, state_.endpoint->incarnation_of(peer));
  }
}

void WorkerLinks::on_event(const transport::PeerEvent& event) {
  if (event.refused) return on_refused(event);
  const auto index = [&] {
    const MutexLock lock(state_.mutex);
    return state_.workers.find_member(event.name);
  }();
  if (!index) return;
  if (event.state == transport::PeerState::kUp) on_up(*index, event.incarnation);
  if (event.state == transport::PeerState::kLost) lose(*index, std::nullopt, event.reason);
}

// Handles a worker that refuses us: another key, or another version.
void WorkerLinks::on_refused(const transport::PeerEvent& event) {
  const MutexLock lock(state_.mutex);
  state_.workers.refused(event.name, {*event.refused, fmt::format("{} {}", event.name, event.reason), event.name},
                         Clock::now());
  state_.changed.notify_all();
}

void WorkerLinks::on_up(std::size_t index, transport::Incarnation incarnation) {
  const bool was_replaced = [&] {
    const MutexLock lock(state_.mutex);
    return state_.workers.was_replaced(index, incarnation);
  }();
  if (was_replaced) lose(index, std::nullopt, "it was restarted");
  std::optional<std::uint64_t> generation;
  {
    const MutexLock lock(state_.mutex);
    if (state_.fatal || state_.closing) return;
    generation = state_.workers.up(index, incarnation, server_links_.is_ready(), Clock::now());
    state_.changed.notify_all();
  }
  if (generation) load(index, *generation);
}

void WorkerLinks::load(std::size_t index, std::uint64_t generation) {
  if (sessions_) return open_session(index, generation);
  task::WorkerOrders orders{.data_seed = state_.options.data_seed, .stages = state_.options.strict};
  {
    const MutexLock lock(state_.mutex);
    orders.shuffle_stream = shuffle_stream_of(state_.workers[index]);
    orders.steps_taken = state_.workers[index].data().steps;
  }
  client_of(index).load_worker(
      server_links_.packed(), state_.epoch, Deadline::after(kLoadTimeout),
      [this, index, generation](int replicas) { on_replicas_known(index, generation, replicas); },
      [this, index, generation](Result<void> loaded) {
        if (!loaded) return load_failed(index, generation, std::move(loaded).error());
        {
          const MutexLock lock(state_.mutex);
          if (!state_.workers.program_loaded(index, generation)) return;
          state_.resources.begin(index);
        }
        make_iterators(index, generation);
      },
      orders);
  state_.endpoint->post_at(Clock::now() + std::chrono::duration_cast<Clock::duration>(kOccupied),
                           [this, index, generation] { ask_what_it_does(index, generation); });
}

// An earlier coordinator's call that can't be interrupted, such as XLA's, must end before anything else is done.
void WorkerLinks::ask_what_it_does(std::size_t index, std::uint64_t generation) {
  {
    const MutexLock lock(state_.mutex);
    if (!state_.workers.is_loading_program(index, generation)) return;
  }
  client_of(index).status(
      Deadline::after(kStatusAnswer), [this, index, generation](const Result<task::TaskStatus>& status) {
        if (!status || !status->is_abandoned || status->doing.empty()) return;
        const std::string what = fmt::format("still running '{}' of an earlier coordinator", status->doing);
        {
          const MutexLock lock(state_.mutex);
          if (!state_.workers.occupied(index, generation, what)) return;
        }
        state_.options.log.warning("waiting for {}, which is {}", name_of(index), what);
      });
}

void WorkerLinks::on_replicas_known(std::size_t index, std::uint64_t generation, int replicas) {
  std::optional<WorkerPool::Mismatch> mismatch;
  {
    const MutexLock lock(state_.mutex);
    mismatch = state_.workers.replicas_known(index, generation, replicas,
                                             server_links_.copies().empty() ? 0 : server_links_.copies().replicas());
    state_.changed.notify_all();
  }
  if (!mismatch) return;
  if (mismatch->is_fatal) return callbacks_.end_all(std::move(mismatch->error));
  load_failed(index, generation, std::move(mismatch->error));
}

void WorkerLinks::load_failed(std::size_t index, std::uint64_t generation, Error error) {
  std::optional<WorkerPool::Retry> retry;
  bool is_news = false;
  {
    const MutexLock lock(state_.mutex);
    retry = state_.workers.load_failed(index, generation, error, Clock::now());
    if (!retry) return;
    state_.fenced = state_.fenced || error.code == Code::kPermissionDenied;
    // A task that only this worker can't reach won't be reported by others.
    is_news = state_.workers.any_was_ready() && !state_.closing && (!retry->may_pass || server_links_.find(error.task));
    state_.changed.notify_all();
  }
  if (is_news)
    state_.options.log.warning("{} can't be used; trying again in {}: {}", name_of(index),
                               format_duration(retry->pause), error.message);
  if (error.code == Code::kPermissionDenied) server_links_.confirm_claim();
  retry_after(index, retry->pause);
}

void WorkerLinks::retry_after(std::size_t index, Duration pause) {
  state_.endpoint->post_at(Clock::now() + std::chrono::duration_cast<Clock::duration>(pause), [this, index] {
    const transport::PeerId peer = client_of(index).peer();
    if (state_.endpoint->state(peer) == transport::PeerState::kUp) on_up(index, state_.endpoint->incarnation_of(peer));
  });
}

void WorkerLinks::make_iterators_on_all() {
  std::vector<std::pair<std::size_t, std::uint64_t>> ready;
  {
    const MutexLock lock(state_.mutex);
    ready = state_.workers.ready_ones();
  }
  for (const auto& [index, generation] : ready) make_iterators(index, generation);
}

// Creates missing iterators one after the other, in the order of their creation; then the worker is ready.
void WorkerLinks::make_iterators(std::size_t index, std::uint64_t generation) {
  std::optional<WorkerResources::Iterators> next;
  std::uint64_t stream = 0;
  {
    const MutexLock lock(state_.mutex);
    if (!state_.workers.may_create(index, generation)) return;
    if (const auto* iterators = state_.resources.take_next(index)) {
      next = *iterators;
      stream = shuffle_stream_of(state_.workers[index]);
      state_.workers.creates(index);
    }
    state_.changed.notify_all();
  }
  if (!next) return become_ready(index, generation, Window(state_.options.window));
  client_of(index).create_iterator(
      next->id, next->dataset, Deadline::after(kLoadTimeout),
      [this, index, generation, number = next->number](Result<void> made) {
        iterator_made(index, generation, number, std::move(made));
      },
      stream);
}

void WorkerLinks::iterator_made(std::size_t index, std::uint64_t generation, std::uint64_t number, Result<void> made) {
  using Creation = WorkerResources::Creation;
  Creation creation{};
  {
    const MutexLock lock(state_.mutex);
    if (!state_.workers.created(index, generation)) return;
    creation = state_.resources.created(number, index, made);
    if (creation == Creation::kMade) state_.stall.progressed();
    state_.changed.notify_all();
  }
  if (creation == Creation::kWorkerLost) return lose(index, generation, made.error().message);
  if (creation == Creation::kWorkerUnfit) return load_failed(index, generation, std::move(made).error());
  make_iterators(index, generation);
}

void WorkerLinks::become_ready(std::size_t index, std::uint64_t generation, Window window) {
  std::optional<WorkerPool::Ready> ready;
  {
    const MutexLock lock(state_.mutex);
    ready = state_.workers.ready(index, generation, window, Clock::now());
    if (!ready) return;
    state_.resources.refresh(index);
    state_.stall.progressed();
    state_.changed.notify_all();
  }
  if (ready->is_back) {
    if (state_.options.on_worker)
      state_.options.on_worker({name_of(index), false, {}});
    else
      state_.options.log.warning("{} is back", name_of(index));
  }
  dispatch();
  dispatch_evaluation();
}

}  // namespace tfd::coordinator
