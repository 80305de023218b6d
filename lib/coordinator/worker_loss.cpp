// SPDX-License-Identifier: Apache-2.0
//
// Workers that are lost, or that can't reach a parameter server: their closures are migrated. Everything here runs on
// the endpoint's I/O thread.
#include <algorithm>

#include "coordinator.hpp"
#include "tfd/base/counted.hpp"
#include "tfd/base/text.hpp"

namespace tfd::coordinator {
namespace {

constexpr Duration kReconnectPause = std::chrono::milliseconds(100);
constexpr Duration kServerTrouble = std::chrono::seconds(15);  // for one worker that can't reach a parameter server

}  // namespace

void Coordinator::worker_lost(std::size_t index, std::optional<std::uint64_t> generation, const std::string& reason,
                              bool died, bool is_unfit) {
  Dispatcher::Loss loss;
  bool was_used = false;
  Duration pause = kReconnectPause;
  {
    const MutexLock lock(mutex_);
    Worker& worker = workers_[index];
    if (worker.state() == WorkerState::kAway || (generation && worker.generation != *generation)) return;
    ++worker.generation;
    worker.gives_back = false;
    was_used = worker.is_ready() && !closing_ && !fatal_;
    loss = dispatcher_.lose(index, died);
    workers_.become(index, WorkerState::kAway, Clock::now());
    worker.replicas = 0;
    if (std::exchange(worker.has_program, false)) worker.data = {0, worker.data.returns + 1};
    worker.making_iterator = false;
    resources_.lose(index);
    worker.reason = reason;
    worker.occupied.clear();
    if (is_unfit) pause = worker.take_backoff();
    if (evaluation_) evaluation_->return_part(index);
    announce_idle();
    changed_.notify_all();
  }
  if (was_used) {
    // Reported once: by the listener if there is one, else here.
    if (options_.on_worker)
      options_.on_worker({name_of(index), true, reason});
    else
      options_.log.warning("lost {} ({}); {} {}{} to other workers", name_of(index), reason, loss.migrated,
                           sessions_ ? "command" : "closure", loss.migrated == 1 ? " goes" : "s go");
  }
  for (const std::string& suspicion : loss.suspicions) options_.log.warning("{}", suspicion);
  send_fences_and_drops();
  for (const ClosurePtr& closure : loss.moved) closure->on_moved(name_of(index), reason);
  call_back(loss.ended);
  dispatch();
  dispatch_evaluation();
  retry_worker_after(index, pause);  // if only a request failed: it is still up, so no event will follow
}

// Handles a worker's report that a parameter server is gone. If we can reach it, the problem is that worker's
// connection, perhaps transient.
void Coordinator::server_reported(std::size_t index, std::uint64_t generation, const Error& error) {
  const auto server =
      static_cast<std::size_t>(std::ranges::find(servers_, error.task, &Server::name) - servers_.begin());
  bool passes = false;
  {
    const MutexLock lock(mutex_);
    Worker& worker = workers_[index];
    if (fatal_ || worker.generation != generation || worker.is_paused()) return;
    workers_.set_paused(index, true);
    passes = health_.pass(error);  // for an evaluation: closures' reports were counted already
    if (worker.server_trouble_since == Clock::time_point{}) worker.server_trouble_since = Clock::now();
  }
  if (options_.transient && !passes) return server_lost(servers_[server], error.message);
  if (passes) {
    options_.log.info("{}: {}; trying again", error.task, error.message);
    return resume_worker_soon(index, generation);
  }
  options_.log.info("{} can't reach {} ({}); checking it", name_of(index), error.task, error.message);
  ps_->task(server).status(Deadline::after(kStatusAnswer),
                           [this, index, generation, server, error](const Result<task::TaskStatus>& status) {
                             server_checked(index, generation, server, error, status);
                           });
}

void Coordinator::server_checked(std::size_t index, std::uint64_t generation, std::size_t server, const Error& error,
                                 const Result<task::TaskStatus>& status) {
  if (!status) {
    const bool may_pass = status.error().code == Code::kUnavailable || status.error().code == Code::kDeadlineExceeded;
    if (!may_pass) return server_lost(servers_[server], status.error().message);
    return resume_worker_soon(index, generation);  // we can't reach it either: server_event() limits the wait
  }
  if (status->incarnation != ps_->incarnation(server)) return server_lost(servers_[server], kRestarted);
  if (status->epoch != epoch_) return fenced_off(error);
  bool is_its_own = false;
  {
    const MutexLock lock(mutex_);
    is_its_own = workers_[index].generation == generation &&
                 Clock::now() - workers_[index].server_trouble_since > kServerTrouble;
  }
  if (is_its_own) return worker_lost(index, generation, error.message, false, true);
  resume_worker_soon(index, generation);
}

void Coordinator::resume_worker_soon(std::size_t index, std::uint64_t generation) {
  endpoint_->post_at(Clock::now() + kReconnectPause, [this, index, generation] {
    {
      const MutexLock lock(mutex_);
      if (workers_[index].generation != generation) return;
      workers_.set_paused(index, false);
    }
    dispatch();
    dispatch_evaluation();
  });
}

}  // namespace tfd::coordinator
