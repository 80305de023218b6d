// SPDX-License-Identifier: Apache-2.0
//
// Commits of closures with CoordinatorOptions::strict: once a worker has staged the updates of an attempt on all of its
// parameter servers, these are told to apply them, and what the closure returns is read right behind. Everything here
// runs on the endpoint's I/O thread, but the pauses.
#include <algorithm>

#include "coordinator.hpp"

namespace tfd::coordinator {
namespace {

constexpr Duration kCommitPause = std::chrono::seconds(1);  // until a request to a parameter server is repeated

}  // namespace

bool Coordinator::is_own(const std::string& variable) const {
  const program::VariableDef* definition = program_.find_variable(variable);
  return definition != nullptr && definition->per_worker;
}

// The closure needs its worker no more from here on.
void Coordinator::on_staged(const Assignment& one, task::ClosureOutcome outcome) {
  for (const std::uint32_t server : outcome.staged_on)
    if (server >= servers_.size())
      return on_finished(
          one, fail(Code::kInternal, "its updates are on parameter server {} of {}", server, servers_.size()));
  std::vector<Commits::Arrived> arrived;
  {
    const MutexLock lock(mutex_);
    if (!dispatcher_.holds(one)) return;  // it has migrated
    arrived = commits_.arrived(one, std::move(outcome));
    for (Commits::Arrived& next : arrived) {
      const Closure& closure = *next.from.closure;
      if (!dispatcher_.staged(next.from, next.outcome.ran, Clock::now())) continue;
      std::vector<std::string> returns = program_.find_function(closure.call.function)->returns;
      std::erase_if(returns, [this](const std::string& name) { return is_own(name); });
      commits_.add(next.from.closure, std::move(next.outcome), std::move(returns));
    }
  }
  for (const auto& [from, staged] : arrived)
    if (options_.on_ran)
      options_.on_ran({name_of(from.worker), from.closure->call.function, from.closure->id, from.sent, Clock::now()});
  send_commits();
  dispatch();
}

void Coordinator::send_commits() {
  std::vector<Commits::Order> orders;
  bool reads_behind = false;
  {
    const MutexLock lock(mutex_);
    orders = commits_.take();
    reads_behind = !commits_.is_sequential();
  }
  for (const Commits::Order& order : orders) {
    for (const std::uint32_t server : order.servers) send_commit(server, order.attempt);
    if (reads_behind && !order.returns.empty()) read_returns(order);
  }
}

void Coordinator::send_commit(std::uint32_t server, const variable::Attempt& attempt) {
  ps_->task(server).commit(attempt, Deadline::never(),
                           [this, server, attempt](const Result<task::UpdateAnswer>& answer) {
                             if (answer && (answer->is_due || answer->is_busy)) {
                               const MutexLock lock(mutex_);
                               commits_.found_due(attempt.sequence, server, answer->is_busy);
                             }
                             if (answer) return commit_answered(attempt.sequence, {});
                             const Error& error = answer.error();
                             const auto again = [this, server, attempt] { send_commit(server, attempt); };
                             if (!server_answers(server, error, again)) commit_answered(attempt.sequence, fail(error));
                           });
}

// The reads are behind the commit on the same connections, and in front of the next one: the values are those that it
// made, unless a connection breaks.
void Coordinator::read_returns(const Commits::Order& order) {
  const std::uint64_t sequence = order.attempt.sequence;
  const auto names = copies_.stored_names(order.returns);
  ps_->start_read(names, Deadline::never())
      .then([this, order, names, sequence](Result<std::vector<tensor::Tensor>> values) {
        if (values) return commit_answered(sequence, returns_read(sequence, names, std::move(*values)));
        if (!server_answers(values.error(), [this, order] { read_returns(order); }))
          commit_answered(sequence, fail(std::move(values).error()));
      });
}

// Puts the read values among the results, in the order of the function's returns; the worker's own are already present.
Result<void> Coordinator::returns_read(std::uint64_t sequence, const std::vector<std::string>& names,
                                       std::vector<tensor::Tensor> values) {
  step::VariableValues returned;
  for (std::size_t i = 0; i < names.size(); ++i) returned.emplace(names[i], std::move(values[i]));
  TFD_TRY(copies_.aggregate(returned));
  const MutexLock lock(mutex_);
  Commits::Done* const waiting = commits_.find(sequence);
  if (waiting == nullptr) return {};
  const auto& returns = program_.find_function(waiting->closure->call.function)->returns;
  auto& results = waiting->outcome.results;
  auto own = results.end() - std::ranges::count_if(returns, [this](const auto& name) { return is_own(name); });
  std::vector<tensor::Tensor> all(std::make_move_iterator(results.begin()), std::make_move_iterator(own));
  for (const std::string& name : returns) all.push_back(is_own(name) ? std::move(*own++) : returned.at(name));
  results = std::move(all);
  return {};
}

// Decides what a parameter server's failure means for a request that may be repeated: it is asked again, or lost, or
// this coordinator is fenced off. False: the failure is the request's own.
bool Coordinator::server_answers(std::size_t server, const Error& error, std::function<void()> again) {
  if (error.code != Code::kUnavailable && error.code != Code::kPermissionDenied && error.code != Code::kCancelled)
    return false;
  using Fence = ServerHealth::Fence;
  Fence fence{};
  {
    const MutexLock lock(mutex_);
    if (fatal_ || closing_) return true;
    fence = health_.judge(fail(error), servers_[server].name);
  }
  if (fence == Fence::kRefused) {
    fenced_off(error);
  } else if (fence == Fence::kLost) {
    server_lost(servers_[server], error.message);
  } else {
    options_.log.info("{}: {}; trying again", servers_[server].name, error.message);
    endpoint_->post_at(Clock::now() + std::chrono::duration_cast<Clock::duration>(kCommitPause), std::move(again));
  }
  return true;
}

/// The same where the error says whose it is.
bool Coordinator::server_answers(const Error& error, std::function<void()> again) {
  const auto server = std::ranges::find(servers_, error.task, &Server::name);
  return server != servers_.end() &&
         server_answers(static_cast<std::size_t>(server - servers_.begin()), error, std::move(again));
}

void Coordinator::commit_answered(std::uint64_t sequence, const Result<void>& answer) {
  Commits::Next next;
  {
    const MutexLock lock(mutex_);
    next = commits_.answered(sequence, answer);
  }
  go_on_committing(sequence, std::move(next));
}

void Coordinator::go_on_committing(std::uint64_t sequence, Commits::Next next) {
  if (next.makes_all_due) return make_due(sequence, *next.makes_all_due);
  if (next.reads) return read_returns(*next.reads);
  if (!next.done) return;
  Commits::Done& done = *next.done;
  bool must_tell_tasks = false;
  {
    const MutexLock lock(mutex_);
    if (fatal_) return;  // it has ended
    if (done.error)
      closures_.fail(done.closure, std::move(*done.error));
    else
      closures_.complete(done.closure, std::move(done.outcome));
    stall_.progressed();
    announce_idle();
    if (commits_.is_paused() && !commits_.is_committing()) changed_.notify_all();
    must_tell_tasks = closures_.has_messages();
  }
  if (must_tell_tasks) send_fences_and_drops();
  call_back(*done.closure);
  send_commits();
  dispatch();
}

// Accumulated gradients that are clipped by a norm over several servers.
void Coordinator::make_due(std::uint64_t sequence, bool makes_all) {
  ps_->start_making_due(!makes_all, Deadline::never(), [this, sequence, makes_all](const Result<void>& made) {
    if (!made && server_answers(made.error(), [this, sequence, makes_all] { make_due(sequence, makes_all); })) return;
    Commits::AfterDue after;
    {
      const MutexLock lock(mutex_);
      after = commits_.made_due(sequence, made);
    }
    for (const std::uint32_t one : after.again.servers) send_commit(one, after.again.attempt);
    go_on_committing(sequence, std::move(after.next));
  });
}

// Drops staged updates of an attempt that doesn't count: until then the worker's reads wait.
void Coordinator::send_abort(std::size_t server, const variable::Attempt& attempt) {
  ps_->task(server).abort(attempt, Deadline::never(), [this, server, attempt](const Result<void>& answer) {
    if (!answer) server_answers(server, answer.error(), [this, server, attempt] { send_abort(server, attempt); });
  });
}

Result<void> Coordinator::pause_commits(Deadline deadline) {
  MutexLock lock(mutex_);
  commits_.pause();
  const bool decided =
      lock.wait(changed_, deadline, [this]() TFD_REQUIRES(mutex_) { return fatal_ || !commits_.is_committing(); });
  if (decided && !fatal_) return {};
  Error error = fatal_ ? *fatal_ : Error{Code::kDeadlineExceeded, "closures are being committed: " + describe(), {}};
  lock.unlock();
  resume_commits();
  return fail(std::move(error));
}

void Coordinator::resume_commits() {
  {
    const MutexLock lock(mutex_);
    commits_.resume();
  }
  endpoint_->post([this] {
    send_commits();
    dispatch();
  });
}

}  // namespace tfd::coordinator
