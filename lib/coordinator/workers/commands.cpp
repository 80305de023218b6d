// SPDX-License-Identifier: Apache-2.0
//
// Shell commands as closures: a worker gets a session instead of a program, and commands instead of calls. Everything
// but end_sessions() runs on the endpoint's I/O thread.
#include "tfd/task/gather.hpp"
#include "workers/worker_links.hpp"

namespace tfd::coordinator {
namespace {

constexpr Duration kSessionAnswer = std::chrono::seconds(30);

}  // namespace

void WorkerLinks::open_session(std::size_t index, std::uint64_t generation) {
  client_of(index).open_session(sessions_->at(generation), Deadline::after(kSessionAnswer),
                                [this, index, generation](Result<int> slots) {
                                  if (!slots) return load_failed(index, generation, std::move(slots).error());
                                  become_ready(index, generation, sessions_->window(*slots));
                                });
}

void WorkerLinks::renew_sessions() {
  if (!sessions_->is_due(Clock::now())) return;
  std::vector<std::pair<std::size_t, std::uint64_t>> ready;
  {
    const MutexLock lock(state_.mutex);
    ready = state_.workers.ready_ones();
  }
  for (const auto& [index, generation] : ready)  // a worker that lost its session reports it at the next command
    client_of(index).open_session(sessions_->at(generation), Deadline::after(kSessionAnswer),
                                  [](const Result<int>&) {});
}

void WorkerLinks::send_command(const Assignment& one) {
  client_of(one.worker)
      .run_command(state_.epoch, *one.closure->command, Deadline::never(),
                   [this, one](Result<task::CommandOutcome> outcome) {
                     if (!outcome) return on_reply(one, fail(std::move(outcome).error()));
                     task::ClosureOutcome wrapped;
                     wrapped.dropped = outcome->given_back;
                     wrapped.command = std::make_shared<const task::CommandOutcome>(std::move(*outcome));
                     on_reply(one, std::move(wrapped));
                   });
}

void WorkerLinks::end_sessions(Deadline deadline) {
  std::vector<task::WorkerClient*> up;
  {
    const MutexLock lock(state_.mutex);
    for (const Worker& worker : state_.workers)
      if (state_.endpoint->state(worker.client().peer()) == transport::PeerState::kUp) up.push_back(&worker.client());
  }
  (void)task::gather<void>(
      up.size(), [&](std::size_t i, auto done) { up[i]->end_session(state_.epoch, deadline, std::move(done)); });
}

}  // namespace tfd::coordinator
