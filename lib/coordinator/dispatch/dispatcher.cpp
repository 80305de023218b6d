// SPDX-License-Identifier: Apache-2.0
#include "dispatch/dispatcher.hpp"

#include <algorithm>
#include <set>
#include <utility>

#include "tfd/base/text.hpp"

namespace tfd::coordinator {
namespace {

constexpr std::uint64_t kSentWhole = 16 << 10;  // bytes of arguments that the transport never splits
constexpr std::size_t kSuspicious = 3;          // number of workers lost with a closure before it is logged

struct StartedClosures {
  std::set<ClosureId> certain, possible;
};

/// Number of the first closures of a worker that may be done: their updates are on their way, or it holds their
/// answers.
std::size_t may_be_done(const std::vector<const Closure*>& held) {
  const std::size_t most = held.empty() ? 0 : std::min(task::kAnswersTogether, held.size() - 1);
  const auto first = held.begin(), last = first + static_cast<std::ptrdiff_t>(most);
  return static_cast<std::size_t>(std::find_if_not(first, last, [](const Closure* one) { return one->updates; }) -
                                  first);
}

/// Closures that a worker has started, certainly or possibly. It starts them in FIFO order: one at a time, or as many
/// commands as it has slots. They arrive in the order of their turns, except that one split by the transport may be
/// overtaken by smaller ones.
StartedClosures started_by(const Worker& worker, const ClosureTable& closures) {
  std::vector<const Closure*> held;
  for (const ClosureId id : worker.held()) held.push_back(&closures.at(id));
  std::ranges::sort(held, {}, &Closure::turn);
  const auto may_overtake = [](const Closure& later, const Closure& earlier) {
    const bool is_alike = later.bytes == earlier.bytes && later.call.function == earlier.call.function;
    return earlier.bytes > kSentWhole && !is_alike;
  };
  StartedClosures started;
  const std::size_t done = may_be_done(held), running = worker.window().at_once();
  for (std::size_t i = 0; i < held.size(); ++i) {
    std::size_t surely_before = 0, perhaps_before = i;
    for (std::size_t j = 0; j < i; ++j) surely_before += may_overtake(*held[i], *held[j]) ? 0 : 1;
    for (std::size_t j = i + 1; j < held.size(); ++j) perhaps_before += may_overtake(*held[j], *held[i]) ? 1 : 0;
    if (perhaps_before < running && done == 0)
      started.certain.insert(held[i]->id);
    else if (surely_before < running + done)
      started.possible.insert(held[i]->id);
  }
  return started;
}

/// Shortens a command for a message.
std::string shortened(const std::string& command) {
  constexpr std::size_t kMost = 60;
  return printable(command.size() <= kMost ? command : command.substr(0, kMost) + "...");
}

std::string describe_losses(const Closure& closure) {
  std::vector<std::string> names = closure.died_of;
  std::ranges::sort(names);
  names.erase(std::unique(names.begin(), names.end()), names.end());
  const std::string label = closure.label.empty() ? fmt::format("closure {}", closure.id) : closure.label;
  const std::string what = closure.command ? shortened(closure.command->text) : closure.call.function;
  return fmt::format("{} ('{}') was running on a worker that died, {} ({})", label, what,
                     counted(closure.died_of.size(), "time"), join_words(names));
}

}  // namespace

std::vector<Dispatcher::Assignment> Dispatcher::assign(Clock::time_point now) {
  std::vector<Assignment> taken;
  assign(WorkerPool::Share::kWhatRuns, now, taken);
  assign(WorkerPool::Share::kWindow, now, taken);
  return taken;
}

// Assigns closures round-robin to the workers that hold less than their share, in handfuls, which travel in one message
// each. One that runs alone waits for a worker that holds none, and closures queued behind it wait, too.
void Dispatcher::assign(WorkerPool::Share share, Clock::time_point now, std::vector<Assignment>& taken) {
  while (const Closure* next = closures_.next()) {
    const auto index = workers_.take_turn(share, next->runs_alone);
    if (!index) return;
    for (std::size_t left = workers_.handful(*index, share, closures_.queued()); left > 0 && next; --left) {
      const ClosurePtr& closure = closures_.take();
      workers_.give(*index, closure->id, closure->runs_alone, now);
      taken.push_back({*index, workers_[*index].generation(), closure});
      next = closures_.next();
      if (closure->runs_alone || (next && next->runs_alone)) break;
    }
  }
}

bool Dispatcher::holds(const Assignment& one) const {
  const Worker& worker = workers_[one.worker];
  return worker.generation() == one.generation && worker.holds(one.closure->id);
}

bool Dispatcher::finish(const Assignment& one, Result<task::ClosureOutcome> outcome, Clock::time_point now) {
  if (!holds(one)) return false;
  const bool is_step = outcome.has_value() && !one.closure->command && !one.closure->call.closure;
  workers_.take_back(one.worker, one.closure->id);
  std::optional<Duration> ran;
  if (outcome) ran = outcome->command ? std::chrono::microseconds(outcome->command->duration_us) : outcome->ran;
  workers_.answered(one.worker, is_step, ran, now);
  if (outcome) {
    closures_.complete(one.closure, std::move(*outcome));
  } else {
    Error error = std::move(outcome).error();
    if (error.task.empty()) error.task = workers_[one.worker].name();
    closures_.fail(one.closure, std::move(error));
  }
  return true;
}

bool Dispatcher::staged(const Assignment& one, Duration ran, Clock::time_point now) {
  if (!holds(one)) return false;
  workers_.take_back(one.worker, one.closure->id);
  workers_.answered(one.worker, !one.closure->call.closure, ran, now);
  return true;
}

ClosurePtr Dispatcher::put_back(const Assignment& one, const Error& why) {
  if (!holds(one)) return nullptr;
  workers_.take_back(one.worker, one.closure->id);
  return closures_.put_back(one.closure->id, why);
}

std::optional<ClosurePtr> Dispatcher::returned(const Assignment& one, Clock::time_point now) {
  if (!holds(one)) return std::nullopt;
  workers_.heard_from(one.worker, now);
  const Error none{Code::kCancelled, "its worker dropped it", {}};
  return put_back(one, closures_.error().value_or(none));
}

Dispatcher::Loss Dispatcher::lose(std::size_t index, bool died) {
  const std::string& worker = workers_[index].name();
  const auto started = died ? started_by(workers_[index], closures_) : StartedClosures();
  const std::vector<ClosureId> held = workers_.take_all(index);
  const Error meanwhile{Code::kCancelled, "its worker was lost meanwhile", {}};
  Loss loss;
  for (const ClosureId id : held) {
    const ClosurePtr closure = closures_.find(id);
    // A closure that runs alone from now on is identified at the next loss; this one counts for none of the candidates.
    closure->runs_alone = closure->runs_alone || started.possible.contains(id);
    if (started.certain.contains(id)) {
      if (auto over = count_loss(*closure, worker, loss.suspicions)) {
        closures_.fail(closure, std::move(*over));
        loss.ended.push_back(closure);
        continue;
      }
    }
    if (closure->on_moved) loss.moved.push_back(closure);
    if (const ClosurePtr cancelled = closures_.put_back(id, meanwhile)) loss.ended.push_back(cancelled);
  }
  loss.migrated = held.size() - loss.ended.size();
  return loss;
}

// Counts a loss; returns the error of a closure that may not be retried.
std::optional<Error> Dispatcher::count_loss(Closure& closure, const std::string& worker,
                                            std::vector<std::string>& suspicions) const {
  closure.died_of.push_back(worker);
  const std::size_t times = closure.died_of.size();
  const bool is_over = rules_.max_losses > 0 && times >= static_cast<std::size_t>(rules_.max_losses);
  if (times == kSuspicious)
    suspicions.push_back(describe_losses(closure) +
                         (is_over ? "" : ": it may be the cause; retrying it (--max-losses limits this)"));
  if (!is_over) return std::nullopt;
  return Error{Code::kAborted, describe_losses(closure) + ": not retrying it", worker};
}

bool Dispatcher::schedule_rebalance() {
  if (is_rebalance_due_ || closures_.queued() > 0 || closures_.in_flight() < 2 || closures_.has_error()) return false;
  return is_rebalance_due_ = true;
}

Dispatcher::Rebalance Dispatcher::rebalance(const Evaluation* evaluation, Clock::time_point now) {
  Rebalance out;
  is_rebalance_due_ = false;
  if (closures_.queued() > 0 || closures_.has_error()) return out;
  std::size_t idle = 0;
  for (std::size_t i = 0; i < workers_.size(); ++i)
    if (evaluation == nullptr || !evaluation->runs_on(i)) idle += workers_.room_at(i);
  for (std::size_t i = 0; i < workers_.size() && idle > 0; ++i) {
    const Worker& worker = workers_[i];
    const std::size_t runs = worker.window().at_once();
    if (!worker.is_ready() || worker.gives_back() || worker.held().size() <= runs) continue;
    if (now - worker.since() < rules_.balance_after) {
      out.must_wait = true;
      continue;
    }
    const std::size_t waiting = worker.held().size() - runs;
    const std::size_t count = waiting - waiting / (idle + 1);  // equal shares
    idle -= std::min(idle, count);
    workers_.asked_back(i);
    out.requests.push_back({i, worker.generation(), count});
  }
  return out;
}

void Dispatcher::request_answered(const Request& request) { workers_.gave_back(request.worker, request.generation); }

}  // namespace tfd::coordinator
