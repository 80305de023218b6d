// SPDX-License-Identifier: Apache-2.0
//
// Commits of closures with CoordinatorOptions::strict: once a worker has staged the updates of an attempt on all of its
// parameter servers, these are told to apply them, and what the closure returns is read right behind. Everything here
// runs on the endpoint's I/O thread, but the pauses.
#include <algorithm>

#include "servers/server_links.hpp"

namespace tfd::coordinator {
namespace {

constexpr Duration kCommitPause = std::chrono::seconds(1);  // until a request to a parameter server is repeated

}  // namespace

void ServerLinks::send_commits() {
  std::vector<Commits::Order> orders;
  bool reads_behind = false;
  {
    const MutexLock lock(state_.mutex);
    orders = state_.commits.take();
    reads_behind = !state_.commits.is_sequential();
  }
  for (const Commits::Order& order : orders) {
    for (const std::uint32_t server : order.servers) send_commit(server, order.attempt);
    if (reads_behind && !order.returns.empty()) read_returns(order);
  }
}

void ServerLinks::send_commit(std::uint32_t server, const variable::Attempt& attempt) {
  ps_->task(server).commit(attempt, Deadline::never(),
                           [this, server, attempt](const Result<task::UpdateAnswer>& answer) {
                             if (answer && (answer->is_due || answer->is_busy)) {
                               const MutexLock lock(state_.mutex);
                               state_.commits.found_due(attempt.sequence, server, answer->is_busy);
                             }
                             if (answer) return commit_answered(attempt.sequence, {});
                             const Error& error = answer.error();
                             const auto again = [this, server, attempt] { send_commit(server, attempt); };
                             if (!handle_server_error(server, error, again))
                               commit_answered(attempt.sequence, fail(error));
                           });
}

// The reads are behind the commit on the same connections, and in front of the next one: the values are those that it
// made, unless a connection breaks.
void ServerLinks::read_returns(const Commits::Order& order) {
  const std::uint64_t sequence = order.attempt.sequence;
  const auto names = copies_.stored_names(order.returns);
  ps_->start_read(names, Deadline::never())
      .then([this, order, names, sequence](Result<std::vector<tensor::Tensor>> values) {
        if (values) return commit_answered(sequence, returns_read(sequence, names, std::move(*values)));
        if (!handle_server_error(values.error(), [this, order] { read_returns(order); }))
          commit_answered(sequence, fail(std::move(values).error()));
      });
}

// Puts the read values among the results, in the order of the function's returns; the worker's own are already present.
Result<void> ServerLinks::returns_read(std::uint64_t sequence, const std::vector<std::string>& names,
                                       std::vector<tensor::Tensor> values) {
  step::VariableValues returned;
  for (std::size_t i = 0; i < names.size(); ++i) returned.emplace(names[i], std::move(values[i]));
  TFD_TRY(copies_.aggregate(returned));
  const MutexLock lock(state_.mutex);
  Commits::Done* const waiting = state_.commits.find(sequence);
  if (waiting == nullptr) return {};
  const auto& returns = state_.program.find_function(waiting->closure->call.function)->returns;
  auto& results = waiting->outcome.results;
  auto own = results.end() -
             std::ranges::count_if(returns, [this](const auto& name) { return is_per_worker(state_.program, name); });
  std::vector<tensor::Tensor> all(std::make_move_iterator(results.begin()), std::make_move_iterator(own));
  for (const std::string& name : returns)
    all.push_back(is_per_worker(state_.program, name) ? std::move(*own++) : returned.at(name));
  results = std::move(all);
  return {};
}

// Decides what a parameter server's failure means for a request that may be repeated: it is asked again, or lost, or
// this coordinator is fenced off.
bool ServerLinks::handle_server_error(std::size_t server, const Error& error, std::function<void()> again) {
  if (error.code != Code::kUnavailable && error.code != Code::kPermissionDenied && error.code != Code::kCancelled)
    return false;
  using Fence = ServerHealth::Fence;
  Fence fence{};
  {
    const MutexLock lock(state_.mutex);
    if (state_.fatal || state_.closing) return true;
    fence = state_.health.judge(fail(error), state_.servers[server].name);
  }
  if (fence == Fence::kRefused) {
    fenced_off(error);
  } else if (fence == Fence::kLost) {
    lose(server, error.message);
  } else {
    state_.options.log.info("{}: {}; trying again", state_.servers[server].name, error.message);
    state_.endpoint->post_at(Clock::now() + std::chrono::duration_cast<Clock::duration>(kCommitPause),
                             std::move(again));
  }
  return true;
}

bool ServerLinks::handle_server_error(const Error& error, std::function<void()> again) {
  const auto server = find(error.task);
  return server && handle_server_error(*server, error, std::move(again));
}

void ServerLinks::commit_answered(std::uint64_t sequence, const Result<void>& answer) {
  Commits::Next next;
  {
    const MutexLock lock(state_.mutex);
    next = state_.commits.answered(sequence, answer);
  }
  go_on_committing(sequence, std::move(next));
}

void ServerLinks::go_on_committing(std::uint64_t sequence, Commits::Next next) {
  if (next.makes_all_due) return make_due(sequence, *next.makes_all_due);
  if (next.reads) return read_returns(*next.reads);
  if (!next.done) return;
  Commits::Done& done = *next.done;
  bool must_tell_tasks = false;
  {
    const MutexLock lock(state_.mutex);
    if (state_.fatal) return;  // it has ended
    if (done.error)
      state_.closures.fail(done.closure, std::move(*done.error));
    else
      state_.closures.complete(done.closure, std::move(done.outcome));
    state_.stall.progressed();
    state_.announce_idle();
    if (state_.commits.is_paused() && !state_.commits.is_committing()) state_.changed.notify_all();
    must_tell_tasks = state_.closures.has_messages();
  }
  if (must_tell_tasks) callbacks_.send_fences_and_drops();
  call_back(*done.closure);
  send_commits();
  callbacks_.dispatch();
}

// Accumulated gradients that are clipped by a norm over several servers.
void ServerLinks::make_due(std::uint64_t sequence, bool makes_all) {
  ps_->start_making_due(!makes_all, Deadline::never(), [this, sequence, makes_all](const Result<void>& made) {
    if (!made && handle_server_error(made.error(), [this, sequence, makes_all] { make_due(sequence, makes_all); }))
      return;
    Commits::AfterDue after;
    {
      const MutexLock lock(state_.mutex);
      after = state_.commits.made_due(sequence, made);
    }
    for (const std::uint32_t one : after.again.servers) send_commit(one, after.again.attempt);
    go_on_committing(sequence, std::move(after.next));
  });
}

// Drops staged updates of an attempt that doesn't count: until then the worker's reads wait.
void ServerLinks::send_abort(std::size_t server, const variable::Attempt& attempt) {
  ps_->task(server).abort(attempt, Deadline::never(), [this, server, attempt](const Result<void>& answer) {
    if (!answer) handle_server_error(server, answer.error(), [this, server, attempt] { send_abort(server, attempt); });
  });
}

Result<void> ServerLinks::pause_commits(Deadline deadline) {
  MutexLock lock(state_.mutex);
  state_.commits.pause();
  const bool decided = lock.wait(state_.changed, deadline, [this]() TFD_REQUIRES(state_.mutex) {
    return state_.fatal || !state_.commits.is_committing();
  });
  if (decided && !state_.fatal) return {};
  Error error = state_.fatal ? *state_.fatal
                             : Error{Code::kDeadlineExceeded, "closures are being committed: " + state_.describe(), {}};
  lock.unlock();
  resume_commits();
  return fail(std::move(error));
}

void ServerLinks::resume_commits() {
  {
    const MutexLock lock(state_.mutex);
    state_.commits.resume();
  }
  state_.endpoint->post([this] {
    send_commits();
    callbacks_.dispatch();
  });
}

}  // namespace tfd::coordinator
