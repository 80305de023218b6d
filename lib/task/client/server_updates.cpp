// SPDX-License-Identifier: Apache-2.0
//
// Updates of one closure on all parameter servers, mostly one message to each. If gradients are accumulated and clipped
// by a norm that spans several servers (of all variables, or of a partitioned one), each server accumulates its own,
// and holds a complete update back: the update is due. A client that finds, after a push, that all parts of a norm are
// due asks each server for its sum of squares, and sends all of them the total.
//
// Any worker may do that: a push is answered before the client asks, so the one whose push completes the last parameter
// server finds all of them due, and two clients send the same total. A client that dies in between, at any message,
// leaves a state that the next one can complete: an update that is due, or, if some servers made it already, the norm
// they clipped by. Until it is made, no further gradient is taken: a client that has one makes the update first, or
// waits for clients with gradients in flight.
#include <algorithm>
#include <condition_variable>

#include "server_operation.hpp"
#include "sharded_state.hpp"

namespace tfd::task {
namespace {

constexpr auto kLook = std::chrono::milliseconds(5);
/// Time to wait for others' gradients; later ones won't come: their closures failed, or their workers are gone.
constexpr Duration kPatience = std::chrono::seconds(10);

bool has_gradients(const std::vector<variable::Update>& updates) {
  return std::ranges::any_of(updates, variable::is_gradient, &variable::Update::kind);
}

Error while_updating(Error error) { return std::move(error).within("updating variables"); }

/// Waits a moment for others' gradients.
Result<void> wait_a_moment(const std::stop_token& stop, Deadline deadline) {
  if (deadline.expired()) return fail(Code::kDeadlineExceeded, "waited for the gradients of an update that is due");
  Mutex mutex;
  std::condition_variable_any never;
  MutexLock lock(mutex);
  never.wait_for(lock, stop, kLook, [] { return false; });
  if (stop.stop_requested()) return fail(Code::kCancelled, "this task is stopping");
  return {};
}

}  // namespace

Result<void> ParameterServers::update(std::uint64_t sequence, const std::vector<variable::Update>& updates,
                                      Deadline deadline, const std::stop_token& stop, std::uint64_t client) {
  const Parts parts = TFD_TRY(cut(updates), "updating variables");
  return push({sequence, client}, parts, deadline, stop).map_error([this](Error error) {
    return policy_.on_cut ? error : while_updating(std::move(error));
  });
}

Result<std::optional<ParameterServers::PendingUpdate>> ParameterServers::start_update(
    std::uint64_t sequence, const std::vector<variable::Update>& updates, Deadline deadline) {
  if (policy_.on_cut) return std::nullopt;
  Parts parts = TFD_TRY(cut(updates), "updating variables");
  std::vector<std::size_t> to = with_parts(parts);
  if (to.empty()) to = all();
  const bool is_alone = std::ranges::count_if(parts, has_gradients) <= 1;
  PendingUpdate pending;
  pending.servers_ = this;
  pending.operation_ = std::make_shared<Operation>();
  for (const std::size_t i : to) {
    transport::Message message = tasks_[i].update_message(sequence, std::move(parts[i]), 0, is_alone);
    if (!transport::leaves_whole(message)) return std::nullopt;
    pending.operation_->add(i, tasks_[i].name(),
                            [message = std::move(message), deadline](ServerClient& task, const Operation::Done& done) {
                              task.update(message, deadline, [done](const Result<UpdateAnswer>& answer) {
                                if (!answer) return done(answer.error());
                                if (!answer->is_busy && !answer->is_due) return done(std::nullopt);
                                done(Error{Code::kInternal, "an update is due where nothing is accumulated", {}});
                              });
                            });
  }
  pending.operation_->start(tasks_);
  return pending;
}

namespace {

/// Stages once more where the server had no room.
void stage_until_taken(ServerClient task, const transport::Message& message, Deadline deadline,
                       const std::function<void(std::optional<Error>)>& done) {
  task.update(message, deadline, [task, message, deadline, done](const Result<UpdateAnswer>& answer) {
    if (!answer) return done(answer.error());
    if (answer->is_busy) return stage_until_taken(task, message, deadline, done);
    done(std::nullopt);
  });
}

}  // namespace

Result<ParameterServers::Staging> ParameterServers::start_stage(const variable::Attempt& attempt,
                                                                const std::vector<variable::Update>& updates,
                                                                Deadline deadline) {
  Parts parts = TFD_TRY(cut(updates), "updating variables");
  std::vector<std::size_t> to = with_parts(parts);
  if (to.empty()) to = all();
  const bool is_alone = std::ranges::count_if(parts, has_gradients) <= 1;
  Staging out;
  out.pending.servers_ = this;
  out.pending.operation_ = std::make_shared<Operation>();
  for (const std::size_t i : to) {
    transport::Message message = tasks_[i].stage_message(attempt, std::move(parts[i]), is_alone);
    out.is_whole = out.is_whole && transport::leaves_whole(message);
    out.servers.push_back(static_cast<std::uint32_t>(i));
    out.pending.operation_->add(i, tasks_[i].name(),
                                [message = std::move(message), deadline](ServerClient& task, Operation::Done done) {
                                  stage_until_taken(task, message, deadline, done);
                                });
  }
  out.pending.operation_->start(tasks_);
  return out;
}

bool ParameterServers::shares_norms(const variable::Optimizer& optimizer) const {
  std::map<std::string, int> first;  // a server of each norm
  for (const auto& [name, placed] : placement_.placed)
    for (std::size_t shard = 0; shard < placed.ps.size(); ++shard) {
      const auto norm = optimizer.shared_norm(stored_name(placed, shard));
      if (norm && first.emplace(*norm, placed.ps[shard]).first->second != placed.ps[shard]) return true;
    }
  return false;
}

Result<void> ParameterServers::resolve(std::vector<std::vector<variable::Attempt>> commits, Deadline deadline) {
  while (!with_parts(commits).empty()) {
    const auto busy = std::make_shared<std::vector<std::vector<variable::Attempt>>>(commits.size());
    const auto commit = [&](ServerClient& task, std::size_t i, const ServerClient::Callback<void>& done) {
      const auto left = std::make_shared<std::size_t>(commits[i].size());  // with the callbacks, on the I/O thread
      const auto failed = std::make_shared<Result<void>>();
      (*busy)[i].clear();
      for (const variable::Attempt& one : commits[i])
        task.commit(one, deadline, [busy, i, one, left, failed, done](Result<UpdateAnswer> answer) {
          if (!answer) *failed = fail(std::move(answer).error());
          if (answer && answer->is_busy) (*busy)[i].push_back(one);
          if (--*left == 0) done(*failed);
        });
    };
    TFD_TRY(do_on(with_parts(commits), commit));
    commits = std::move(*busy);
    if (!with_parts(commits).empty()) TFD_TRY(make_due(std::nullopt, false, deadline, {}));
  }
  return do_on(all(), [&](ServerClient& task, std::size_t, auto done) { task.abort_all(deadline, std::move(done)); });
}

Result<void> ParameterServers::PendingUpdate::wait(const std::stop_token& stop) {
  return servers_->finish(operation_, stop).map_error(while_updating);
}

void ParameterServers::PendingUpdate::then(std::function<void(Result<void>)> done) {
  operation_->then(
      [done = std::move(done)](Result<void> updated) { done(std::move(updated).map_error(while_updating)); });
}

Result<void> ParameterServers::update_next(const std::vector<variable::Update>& updates, Deadline deadline) {
  return update(next_sequence_++, updates, deadline, {}, endpoint_.incarnation());
}

Result<void> ParameterServers::push(const Number& number, const Parts& parts, Deadline deadline,
                                    const std::stop_token& stop) {
  std::vector<std::size_t> left = with_parts(parts);
  if (left.empty()) left = all();
  const bool is_alone = std::ranges::count_if(parts, has_gradients) <= 1;
  const auto answers = std::make_shared<std::vector<UpdateAnswer>>();  // with the callbacks
  const Deadline waits = Deadline::after(kPatience);
  for (;;) {
    answers->assign(tasks_.size(), {});
    TFD_TRY(do_on(
        left,
        [&](ServerClient& task, std::size_t i, const ServerClient::Callback<void>& done) {
          const auto answered = [answers, i, done](Result<UpdateAnswer> answer) {
            if (!answer) return done(fail(std::move(answer).error()));
            (*answers)[i] = *answer;
            done({});
          };
          task.update(number.sequence, parts[i], deadline, answered, number.client, is_alone);
        },
        stop));
    std::erase_if(left, [&](std::size_t i) { return !(*answers)[i].is_busy; });
    if (std::ranges::none_of(*answers, &UpdateAnswer::is_due)) return {};
    Names names(tasks_.size());
    for (std::size_t i = 0; i < parts.size(); ++i)
      for (const variable::Update& one : parts[i])
        if (variable::is_gradient(one.kind)) names[i].push_back(one.variable);
    const bool is_complete = TFD_TRY(make_due(names, !waits.expired(), deadline, stop));
    if (left.empty()) return {};
    if (!is_complete) TFD_TRY(wait_a_moment(stop, deadline));
  }
}

namespace {

/// The updates that each server is to make, with the norms to clip by, from what each says is due.
struct NormsMade {
  std::vector<std::vector<variable::DueUpdate>> by_server;
  bool is_complete = true;  // false: some wait for gradients of others
};
NormsMade join_norms_of(const std::vector<std::vector<variable::DueUpdate>>& answers, bool waits) {
  std::vector<variable::DueUpdate> all_due;
  std::map<std::string_view, std::size_t> servers;
  for (std::size_t i = 0; i < answers.size(); ++i)
    for (const variable::DueUpdate& one : answers[i]) {
      servers[one.variable] = i;
      all_due.push_back(one);
    }
  const auto normed = variable::join_norms(std::move(all_due), waits);
  NormsMade out{std::vector<std::vector<variable::DueUpdate>>(answers.size()), normed.is_complete};
  for (const variable::DueUpdate& one : normed.updates) out.by_server[servers.at(one.variable)].push_back(one);
  return out;
}

}  // namespace

std::shared_ptr<ParameterServers::Operation> ParameterServers::begin_finding_due(const std::optional<Names>& names,
                                                                                 const std::shared_ptr<Due>& due,
                                                                                 Deadline deadline) {
  const auto finding = std::make_shared<Operation>();
  for (const std::size_t i : names ? with_parts(*names) : all())
    finding->add(i, tasks_[i].name(),
                 [due, i, wanted = names ? (*names)[i] : std::vector<std::string>{}, deadline](
                     ServerClient& task, const Operation::Done& done) {
                   task.find_due(wanted, deadline, [due, i, done](Result<std::vector<variable::DueUpdate>> answer) {
                     if (!answer) return done(std::move(answer).error());
                     (*due)[i] = std::move(*answer);
                     done(std::nullopt);
                   });
                 });
  finding->start(tasks_);
  return finding;
}

std::shared_ptr<ParameterServers::Operation> ParameterServers::begin_making(const Due& due, Deadline deadline) {
  const auto making = std::make_shared<Operation>();
  for (const std::size_t i : with_parts(due))
    making->add(i, tasks_[i].name(), [due = due[i], deadline](ServerClient& task, const Operation::Done& done) {
      task.make_due(due, deadline, [done](const Result<void>& answer) {
        done(answer ? std::nullopt : std::optional(answer.error()));
      });
    });
  making->start(tasks_);
  return making;
}

Result<bool> ParameterServers::make_due(const std::optional<Names>& names, bool waits, Deadline deadline,
                                        const std::stop_token& stop) {
  const auto due = std::make_shared<Due>(tasks_.size());  // with the callbacks
  TFD_TRY(finish(begin_finding_due(names, due, deadline), stop));
  const NormsMade made = join_norms_of(*due, waits);
  TFD_TRY(finish(begin_making(made.by_server, deadline), stop));
  return made.is_complete;
}

void ParameterServers::start_making_due(bool waits, Deadline deadline, std::function<void(Result<void>)> done) {
  const auto due = std::make_shared<Due>(tasks_.size());  // with the callbacks
  begin_finding_due(std::nullopt, due, deadline)
      ->then([this, due, waits, deadline, done = std::move(done)](Result<void> found) {
        if (!found) return done(std::move(found));
        begin_making(join_norms_of(*due, waits).by_server, deadline)->then(done);
      });
}

}  // namespace tfd::task
