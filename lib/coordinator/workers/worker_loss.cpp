// SPDX-License-Identifier: Apache-2.0
//
// Workers that are lost, or that can't reach a parameter server: their closures are migrated. Everything here runs on
// the endpoint's I/O thread.
#include <algorithm>

#include "coordinator.hpp"
#include "tfd/base/text.hpp"

namespace tfd::coordinator {
namespace {

/// A reason that is said beside the worker's name, without it: "connection reset" of "worker:0 is lost: connection
/// reset".
std::string without_name(const std::string& reason, const std::string& name) {
  const std::string beginning = name + " is lost: ";
  return reason.starts_with(beginning) ? reason.substr(beginning.size()) : reason;
}

}  // namespace

void Coordinator::worker_lost(std::size_t index, std::optional<std::uint64_t> generation, const std::string& error,
                              bool died, bool is_unfit) {
  settle_finished();  // what it has answered needs no other worker
  const std::string reason = without_name(error, name_of(index));
  std::optional<WorkerPool::Lost> lost;
  Dispatcher::Loss loss;
  bool was_used = false;
  {
    const MutexLock lock(mutex_);
    lost = workers_.lose(index, generation, reason, is_unfit, Clock::now());
    if (!lost) return;
    was_used = lost->was_ready && !closing_ && !fatal_;
    loss = dispatcher_.lose(index, died);
    commits_.forget(index);
    resources_.lose(index);
    evaluations_.return_part(index);
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
  retry_worker_after(index, lost->pause);
}

// Handles a worker's report that a parameter server is gone. If we can reach it, the problem is that worker's
// connection, perhaps transient.
void Coordinator::server_reported(std::size_t index, std::uint64_t generation, const Error& error) {
  const auto server =
      static_cast<std::size_t>(std::ranges::find(servers_, error.task, &Server::name) - servers_.begin());
  bool passes = false;
  {
    const MutexLock lock(mutex_);
    if (fatal_ || !workers_.server_trouble(index, generation, Clock::now())) return;
    passes = health_.pass(error);  // for an evaluation: closures' reports were counted already
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
    is_its_own = workers_.is_its_own_trouble(index, generation, Clock::now());
  }
  if (is_its_own) return worker_lost(index, generation, error.message, false, true);
  resume_worker_soon(index, generation);
}

void Coordinator::resume_worker_soon(std::size_t index, std::uint64_t generation) {
  endpoint_->post_at(Clock::now() + WorkerPool::kReconnectPause, [this, index, generation] {
    {
      const MutexLock lock(mutex_);
      if (!workers_.resume(index, generation)) return;
    }
    dispatch();
    dispatch_evaluation();
  });
}

}  // namespace tfd::coordinator
