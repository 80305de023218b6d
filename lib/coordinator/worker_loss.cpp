// SPDX-License-Identifier: Apache-2.0
//
// Workers that are lost, or that can't reach a parameter server: their closures are migrated, and losses per closure
// counted. Everything here runs on the endpoint's I/O thread.
#include <algorithm>

#include "coordinator.hpp"
#include "tfd/base/counted.hpp"
#include "tfd/base/text.hpp"

namespace tfd::coordinator {
namespace {

constexpr Duration kReconnectPause = std::chrono::milliseconds(100);
constexpr Duration kServerTrouble = std::chrono::seconds(15);  // for one worker that can't reach a parameter server
constexpr std::uint64_t kSentWhole = 16 << 10;                 // bytes of arguments that the transport never splits
constexpr std::size_t kSuspicious = 3;  // number of workers lost with a closure before it is logged

/// Shortens a command for a message.
std::string shortened(const std::string& command) {
  constexpr std::size_t kMost = 60;
  return printable(command.size() <= kMost ? command : command.substr(0, kMost) + "...");
}

}  // namespace

/// Closures that a worker has started, certainly or possibly. It starts them in FIFO order: one at a time, or as many
/// commands as it has slots. They arrive in the order of their turns, except that one split by the transport may be
/// overtaken by smaller ones.
Coordinator::StartedClosures Coordinator::begun_by(const Worker& worker) const {
  std::vector<const Closure*> held;
  for (const ClosureId id : worker.held()) held.push_back(&closures_.at(id));
  std::ranges::sort(held, {}, &Closure::turn);
  const auto may_overtake = [](const Closure& later, const Closure& earlier) {
    const bool is_alike = later.bytes == earlier.bytes && later.call.function == earlier.call.function;
    return earlier.bytes > kSentWhole && !is_alike;
  };
  StartedClosures begun;
  for (std::size_t i = 0; i < held.size(); ++i) {
    std::size_t surely_before = 0, perhaps_before = i;
    for (std::size_t j = 0; j < i; ++j) surely_before += may_overtake(*held[i], *held[j]) ? 0 : 1;
    for (std::size_t j = i + 1; j < held.size(); ++j) perhaps_before += may_overtake(*held[j], *held[i]) ? 1 : 0;
    if (perhaps_before < worker.window().at_once())
      begun.certain.insert(held[i]->id);
    else if (surely_before < worker.window().at_once())
      begun.possible.insert(held[i]->id);
  }
  return begun;
}

/// Counts a loss; returns the error of a closure that may not be retried; `said` gets lines for the log.
std::optional<Error> Coordinator::count_loss(Closure& closure, const std::string& worker,
                                             std::vector<std::string>& said) const {
  closure.died_of.push_back(worker);
  const std::size_t times = closure.died_of.size();
  const auto describe = [&] {
    std::vector<std::string> names = closure.died_of;
    std::ranges::sort(names);
    names.erase(std::unique(names.begin(), names.end()), names.end());
    const std::string label = closure.label.empty() ? fmt::format("closure {}", closure.id) : closure.label;
    const std::string what = closure.command ? shortened(closure.command->text) : closure.call.function;
    return fmt::format("{} ('{}') was running on a worker that died, {} ({})", label, what, counted(times, "time"),
                       join_words(names));
  };
  const bool is_over = options_.max_losses > 0 && times >= static_cast<std::size_t>(options_.max_losses);
  if (times == kSuspicious)
    said.push_back(describe() + (is_over ? "" : ": it may be the cause; retrying it (--max-losses limits this)"));
  if (!is_over) return std::nullopt;
  return Error{Code::kAborted, describe() + ": not retrying it", worker};
}

void Coordinator::worker_lost(std::size_t index, std::optional<std::uint64_t> generation, const std::string& reason,
                              bool died, bool is_unfit) {
  ClosurePtrs ended, moved;
  std::size_t migrated = 0;
  std::vector<std::string> suspicions;
  bool was_used = false;
  Duration pause = kReconnectPause;
  {
    const MutexLock lock(mutex_);
    Worker& worker = workers_[index];
    if (worker.state() == WorkerState::kAway || (generation && worker.generation != *generation)) return;
    ++worker.generation;
    worker.gives_back = false;
    was_used = worker.is_ready() && !closing_ && !fatal_;
    const auto begun = died ? begun_by(worker) : StartedClosures();
    const std::vector<ClosureId> held = workers_.take_all(index);
    workers_.become(index, WorkerState::kAway, Clock::now());
    worker.replicas = 0;
    if (std::exchange(worker.has_program, false)) worker.data = {0, worker.data.returns + 1};
    worker.making_iterator = false;
    closures_.forget(index);
    for (auto& [number, iterators] : iterators_) iterators.made_on.erase(index);
    refresh_values(index);
    worker.reason = reason;
    worker.occupied.clear();
    if (is_unfit) pause = worker.take_backoff();
    const Error meanwhile{Code::kCancelled, "its worker was lost meanwhile", {}};
    for (const ClosureId id : held) {
      const ClosurePtr closure = closures_.find(id);
      // A closure that runs alone from now on is identified at the next loss; this one counts for none of the
      // candidates.
      closure->runs_alone = closure->runs_alone || begun.possible.contains(id);
      if (begun.certain.contains(id)) {
        if (auto over = count_loss(*closure, worker.name, suspicions)) {
          closures_.fail(closure, std::move(*over));
          ended.push_back(closure);
          continue;
        }
      }
      if (closure->on_moved) moved.push_back(closure);
      if (const ClosurePtr cancelled = closures_.put_back(id, meanwhile)) ended.push_back(cancelled);
    }
    migrated = held.size() - ended.size();
    if (evaluation_) evaluation_->return_part(index);
    announce_idle();
    changed_.notify_all();
  }
  if (was_used) {
    // Reported once: by the listener if there is one, else here.
    if (options_.on_worker)
      options_.on_worker({name_of(index), true, reason});
    else
      options_.log.warning("lost {} ({}); {} {}{} to other workers", name_of(index), reason, migrated,
                           sessions_ ? "command" : "closure", migrated == 1 ? " goes" : "s go");
  }
  for (const std::string& suspicion : suspicions) options_.log.warning("{}", suspicion);
  send_fences_and_drops();
  for (const ClosurePtr& closure : moved) closure->on_moved(name_of(index), reason);
  call_back(ended);
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
    passes = transient_ && transient_->pass(error);  // for an evaluation: closures' reports were counted already
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
