// SPDX-License-Identifier: Apache-2.0
//
// Workers that are lost, or that can't reach a parameter server: their closures are migrated. Everything here runs on
// the endpoint's I/O thread.
#include <algorithm>

#include "tfd/base/text.hpp"
#include "workers/worker_links.hpp"

namespace tfd::coordinator {
namespace {

/// A reason that is said beside the worker's name, without it: "connection reset" of "worker:0 is lost: connection
/// reset".
std::string without_name(const std::string& reason, const std::string& name) {
  const std::string beginning = name + " is lost: ";
  return reason.starts_with(beginning) ? reason.substr(beginning.size()) : reason;
}

}  // namespace

void WorkerLinks::lose(std::size_t index, std::optional<std::uint64_t> generation, const std::string& error, bool died,
                       bool is_unfit) {
  settle_finished();  // what it has answered needs no other worker
  const std::string reason = without_name(error, name_of(index));
  std::optional<WorkerPool::Lost> lost;
  Dispatcher::Loss loss;
  bool was_used = false;
  {
    const MutexLock lock(state_.mutex);
    lost = state_.workers.lose(index, generation, reason, is_unfit, Clock::now());
    if (!lost) return;
    was_used = lost->was_ready && !state_.closing && !state_.fatal;
    loss = state_.dispatcher.lose(index, died);
    state_.commits.forget(index);
    state_.resources.lose(index);
    state_.evaluations.return_part(index);
    state_.announce_idle();
    state_.changed.notify_all();
  }
  if (was_used) {
    // Reported once: by the listener if there is one, else here.
    if (state_.options.on_worker)
      state_.options.on_worker({name_of(index), true, reason});
    else
      state_.options.log.warning("lost {} ({}); {} {}{} to other workers", name_of(index), reason, loss.migrated,
                                 sessions_ ? "command" : "closure", loss.migrated == 1 ? " goes" : "s go");
  }
  for (const std::string& suspicion : loss.suspicions) state_.options.log.warning("{}", suspicion);
  send_fences_and_drops();
  for (const ClosurePtr& closure : loss.moved) closure->on_moved(name_of(index), reason);
  call_back(loss.ended);
  dispatch();
  dispatch_evaluation();
  retry_after(index, lost->pause);
}

// Handles a worker's report that a parameter server is gone. If we can reach it, the problem is that worker's
// connection, perhaps transient.
void WorkerLinks::server_reported(std::size_t index, std::uint64_t generation, const Error& error) {
  const std::size_t server = *server_links_.find(error.task);
  bool passes = false;
  {
    const MutexLock lock(state_.mutex);
    if (state_.fatal || !state_.workers.server_trouble(index, generation, Clock::now())) return;
    passes = state_.health.pass(error);  // for an evaluation: closures' reports were counted already
  }
  if (state_.options.transient && !passes) return server_links_.lose(server, error.message);
  if (passes) {
    state_.options.log.info("{}: {}; trying again", error.task, error.message);
    return resume_soon(index, generation);
  }
  state_.options.log.info("{} can't reach {} ({}); checking it", name_of(index), error.task, error.message);
  server_links_.client_of(server).status(
      Deadline::after(kStatusAnswer), [this, index, generation, server, error](const Result<task::TaskStatus>& status) {
        server_checked(index, generation, server, error, status);
      });
}

void WorkerLinks::server_checked(std::size_t index, std::uint64_t generation, std::size_t server, const Error& error,
                                 const Result<task::TaskStatus>& status) {
  if (!status) {
    const bool may_pass = status.error().code == Code::kUnavailable || status.error().code == Code::kDeadlineExceeded;
    if (!may_pass) return server_links_.lose(server, status.error().message);
    return resume_soon(index, generation);  // we can't reach it either: ServerLinks::on_event() limits the wait
  }
  if (status->incarnation != server_links_.incarnation_of(server)) return server_links_.lose(server, kRestarted);
  if (status->epoch != state_.epoch) return server_links_.fenced_off(error);
  bool is_its_own = false;
  {
    const MutexLock lock(state_.mutex);
    is_its_own = state_.workers.is_its_own_trouble(index, generation, Clock::now());
  }
  if (is_its_own) return lose(index, generation, error.message, false, true);
  resume_soon(index, generation);
}

void WorkerLinks::resume_soon(std::size_t index, std::uint64_t generation) {
  state_.endpoint->post_at(Clock::now() + WorkerPool::kReconnectPause, [this, index, generation] {
    {
      const MutexLock lock(state_.mutex);
      if (!state_.workers.resume(index, generation)) return;
    }
    dispatch();
    dispatch_evaluation();
  });
}

}  // namespace tfd::coordinator
