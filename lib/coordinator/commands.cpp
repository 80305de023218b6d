// SPDX-License-Identifier: Apache-2.0
//
// Shell commands as closures: a worker gets a session instead of a program, and commands instead of calls. Everything
// but end_sessions() runs on the endpoint's I/O thread.
#include <algorithm>

#include "coordinator.hpp"

namespace tfd::coordinator {
namespace {

constexpr Duration kSessionAnswer = std::chrono::seconds(30);
constexpr std::size_t kAhead = 8;  // short commands queued at the worker; a long one behind them waits, too
constexpr Duration kRenewAfter = task::kCommandLease / 5;

}  // namespace

void Coordinator::open_session(std::size_t index, std::uint64_t generation) {
  task::CommandSession session = *options_.commands;
  session.epoch = epoch_;
  session.generation = generation;
  workers_[index].client->open_session(
      session, Deadline::after(kSessionAnswer), [this, index, generation](Result<int> slots) {
        if (!slots) return load_failed(index, generation, std::move(slots).error());
        {
          const Lock lock(mutex_);
          if (workers_[index].generation != generation) return;
          const auto least = static_cast<std::size_t>(std::max(1, *slots));
          workers_.set_window(index, Window(least + (options_.commands_ahead ? kAhead : 0), least));
        }
        worker_ready(index);
      });
}

void Coordinator::renew_sessions() {
  const auto now = Clock::now();
  if (now - renewed_ < kRenewAfter) return;
  renewed_ = now;
  std::vector<std::pair<std::size_t, std::uint64_t>> ready;
  {
    const Lock lock(mutex_);
    for (std::size_t i = 0; i < workers_.size(); ++i)
      if (workers_[i].is_ready()) ready.emplace_back(i, workers_[i].generation);
  }
  for (const auto& [index, generation] : ready) {
    task::CommandSession session = *options_.commands;
    session.epoch = epoch_;
    session.generation = generation;
    // A worker that lost its session reports it at the next command.
    workers_[index].client->open_session(session, Deadline::after(kSessionAnswer), [](const Result<int>&) {});
  }
}

void Coordinator::send_command(const Dispatched& one) {
  workers_[one.worker].client->run_command(
      epoch_, *one.closure->command, Deadline::never(), [this, one](Result<task::CommandOutcome> outcome) {
        if (!outcome) return on_reply(one, fail(std::move(outcome).error()));
        task::ClosureOutcome wrapped;
        wrapped.dropped = outcome->given_back;
        wrapped.command = std::make_shared<const task::CommandOutcome>(std::move(*outcome));
        on_reply(one, std::move(wrapped));
      });
}

void Coordinator::end_sessions(Deadline deadline) {
  struct Ends {
    std::mutex mutex;
    std::condition_variable changed;
    std::size_t left = 0;
  };
  const auto ends = std::make_shared<Ends>();  // with the callbacks
  std::vector<task::WorkerClient*> up;
  for (Worker& worker : workers_)
    if (endpoint_->state(worker.client->peer()) == transport::PeerState::kUp) up.push_back(worker.client.get());
  ends->left = up.size();
  for (task::WorkerClient* task : up)
    task->end_session(epoch_, deadline, [ends](const Result<void>&) {
      const std::scoped_lock lock(ends->mutex);
      if (--ends->left == 0) ends->changed.notify_all();
    });
  std::unique_lock lock(ends->mutex);
  ends->changed.wait(lock, [&] { return ends->left == 0; });
}

}  // namespace tfd::coordinator
