// SPDX-License-Identifier: Apache-2.0
//
// A TaskGroup's decisions about failures: the cause, and the tasks to restart.
#include <signal.h>

#include <algorithm>
#include <array>

#include "group_task.hpp"
#include "tfd/base/text.hpp"
#include "tfd/base/units.hpp"

namespace tfd::launch {
namespace {

constexpr auto kCauseDelay = std::chrono::seconds(1);  // time for the lost one itself to be seen

template <std::size_t N>
bool is_one_of(const process::ExitStatus& status, const std::array<ExitCode, N>& codes) {
  return status.signal == 0 &&
         std::ranges::any_of(codes, [&](const ExitCode code) { return status.code == number_of(code); });
}

/// True if another start would end like this one. A task that states its exit code in its error file, as tfd's tools
/// do, means what sysexits.h does; other programs' may mean anything.
bool is_final_end(const process::ExitStatus& status, const std::optional<int>& stated, Standing last) {
  constexpr std::array kAlways{ExitCode::kUsage, ExitCode::kNotRunnable, ExitCode::kNotFound};
  constexpr std::array kStated{ExitCode::kUsage, ExitCode::kBadInput};
  constexpr std::array kRefusals{ExitCode::kBadInput, ExitCode::kNotPermitted};  // another program, another key
  return is_one_of(status, kAlways) || (stated == status.code && is_one_of(status, kStated)) ||
         (last == Standing::kJoining && is_one_of(status, kRefusals));
}

}  // namespace

bool Standings::may_refuse(int code) const {
  return members > 0 || (code == number_of(ExitCode::kNotPermitted) && running > 1);
}

/// The report to others about a task that can't be started.
TaskFailure TaskGroup::start_failure(const Task& task, const Error& error) {
  const process::ExitStatus status{.code = process::exit_code_of_start_error(error)};
  const bool is_final = is_final_end(status, std::nullopt, Standing::kAlone);
  return {.task = task.name,
          .status = status,
          .line = error.message,
          .time = wall_seconds(),
          .is_refused = is_final,
          .is_final = is_final};
}

/// Writes the task's error file, and keeps the earliest.
TaskGroup::Failure TaskGroup::note(Task& task, const process::ExitStatus& status, const MemberState& last) {
  TaskError own{task.name, status.code, "", host_name(), task.pid, status.signal, wall_seconds()};
  if (last.step) own.step = std::to_string(*last.step);
  TaskError error = files_.complete(task.member.id, own);
  task.is_final = is_final_end(status, error.stated_code, last.standing);
  task.is_refused = task.is_final && last.standing != Standing::kMember;
  Failure failure{&task, status, error.message, error.time, last.step};
  if (error.message.empty()) error.message = describe_end(status);
  if (const auto saved = files_.save(task.member.id, error); !saved) say_(saved.error().message);
  // One that ends because another one is lost is never before that one, whatever clocks say.
  const auto order = [](const Failure& one) { return std::pair(one.status.code == kOthersLoss, one.time); };
  if (!earliest_ || order(failure) < order(*earliest_)) earliest_ = failure;
  return failure;
}

/// "worker:1 exited with 7: no such shard".
std::string TaskGroup::line_of(const Failure& failure) {
  std::string line = fmt::format("{} {}", failure.task->name, describe_end(failure.status));
  return failure.message.empty() ? line : line + ": " + failure.message;
}

void TaskGroup::on_failure(Failure failure) {
  if (options_.on_failure)
    return options_.on_failure({failure.task->name, failure.status, line_of(failure), failure.message, failure.time,
                                failure.step, failure.task->is_refused, failure.task->is_final});
  if (ending_) {
    // One that somebody else kills isn't ended by us: several may be out of memory at once.
    if (asked_signal_ == 0 && failure.status.signal == SIGKILL && !kills_) say_(line_of(failure));
    // Where a signal asked for the end, the first to fail isn't ended by us.
    if (cause_ || asked_signal_ == 0) return;
    cause_ = std::move(failure);
    if (cause_->status.signal != asked_signal_)
      say_(fmt::format("{} {}", cause_->task->name, describe_end(cause_->status)));
    return;
  }
  if (failure.task->is_refused && restarts_) {
    const Standings left = standings();
    if (left.go_on() && left.may_refuse(failure.status.code) && left.running >= options_.least) {
      if (earliest_ && earliest_->task == failure.task) earliest_.reset();
      return say_(line_of(failure) + "; the others go on without it");
    }
  }
  failures_.add(failure.status, failure.message);
  // A task that ends because another one is lost isn't the cause, though it may be seen first.
  const bool is_consequence = failure.status.code == kOthersLoss;
  const bool is_worse = !cause_ || (!is_consequence && cause_->status.code == kOthersLoss) || failure.task->is_final;
  if (is_worse) cause_ = std::move(failure);
  // Several tasks of a group that goes on may die of one cause, or all.
  if ((!is_consequence && !goes_on()) || cause_->task->is_final || is_unread(*cause_) || running().empty())
    return decide();
  if (decide_timer_ == 0) decide_timer_ = loop_.at(Clock::now() + kCauseDelay, [this] { decide(); });
}

/// The cause is known: the others are ended, or those that failed are started again.
void TaskGroup::decide() {
  loop_.cancel(std::exchange(decide_timer_, 0));
  if (ending_) return;
  std::string line = line_of(*cause_);
  const int own_failures = std::exchange(failures_, {}).count();
  if (restarts_ && !cause_->task->is_final && !is_unread(*cause_)) {
    const bool are_replaced = goes_on();
    // All start again once, however many have failed.
    const int one = Restarts::is_preemption(cause_->status) ? 0 : 1;
    const int failures = are_replaced && own_failures > 0 ? own_failures : one;
    if (const auto wait = restarts_->on_failure(Clock::now(), failures, cause_->task->name, cause_->step))
      return are_replaced ? replace_later(line, *wait, failures) : start_again_later(line, *wait, failures);
    line += "; " + restarts_->too_many();
  }
  if (!is_unread(*cause_)) say_(line);
  end_all(SIGTERM, options_.stop_grace);
}

/// Starts only those that failed again, after a while. Returns their names.
std::vector<std::string> TaskGroup::schedule_failed(Duration wait) {
  std::vector<std::string> names;
  for (const auto& task : tasks_) {
    if (!task->has_failed || task->is_final || task->child || task->again != 0) continue;
    names.push_back(task->name);
    task->again = loop_.at(Clock::now() + wait, [this, it = task.get()] { replace(*it); });
  }
  return names;
}

void TaskGroup::replace_failed(int generation, std::vector<Member> members, Duration wait) {
  for (std::size_t i = 0; i < std::min(members.size(), tasks_.size()); ++i)
    if (!tasks_[i]->child) tasks_[i]->member = std::move(members[i]);
  generation_ = generation;
  earliest_.reset();
  // Nothing is started after a signal.
  if (!ending_ && stops_ == 0 && !schedule_failed(wait).empty()) idle_ = false;
  if (idle_) options_.on_idle(generation_);
}

void TaskGroup::replace_later(const std::string& failure, Duration wait, int failures) {
  const std::vector<std::string> names = schedule_failed(wait);
  cause_.reset();
  earliest_.reset();
  ++generation_;
  say_(fmt::format("{}; starting {} again in {} ({})", failure, join_words(names), format_duration(wait),
                   restarts_->describe(failures)));
}

void TaskGroup::replace(Task& task) {
  task.again = 0;
  const auto started = start_task(task);
  tell_standings();
  if (started) return;
  if (options_.on_failure) {
    options_.on_failure(start_failure(task, started.error()));
    return check_end();
  }
  cause_ = Failure{&task, {.code = process::exit_code_of_start_error(started.error())}, "", wall_seconds()};
  say_(started.error().message);
  end_all(SIGTERM, options_.stop_grace);
}

void TaskGroup::cancel_replacements() {
  for (const auto& task : tasks_) loop_.cancel(std::exchange(task->again, 0));
}

/// True if an elastic group has come to its end: no member runs, and the last one ended well.
bool TaskGroup::is_done() const {
  return restarts_ && !ending_ && std::ranges::none_of(tasks_, [this](const auto& task) {
           return task->child && task->member.has_rank &&
                  files_.member_state_of(task->member.id).standing == Standing::kMember;
         });
}

/// One member has made the last step, and so has the group; the others have at most the grace left. A task that runs
/// after it is frozen, or cut off, and won't say so.
void TaskGroup::finish_later() {
  if (!restarts_ || ending_ || done_timer_ != 0) return;
  done_timer_ = loop_.at(Clock::now() + options_.grace, [this] {
    done_timer_ = 0;
    if (ending_ || running().empty()) return;
    say_(fmt::format("the training is done; ending {}, which hasn't ended {} after it", join_words(running()),
                     format_duration(options_.grace)));
    finish();
  });
}

/// Failed tasks aren't needed now, nor joining ones.
void TaskGroup::finish() {
  loop_.cancel(std::exchange(decide_timer_, 0));
  loop_.cancel(std::exchange(done_timer_, 0));
  if (cause_) say_(line_of(*cause_) + "; the others ended without it");  // there was no time to start it again
  cause_.reset();
  earliest_.reset();
  failures_.clear();
  ending_ = true;
  cancel_replacements();
  for (const auto& task : tasks_)
    if (task->child && task->member.has_rank) ::kill(-task->pid, SIGTERM);  // a stopped one isn't woken up for it
  kill_timer_ = loop_.at(Clock::now() + options_.stop_grace, [this] { kill(); });
}

/// A program that doesn't join a group by itself is started again as a whole at every change.
void TaskGroup::start_again_later(const std::string& failure, Duration wait, int failures) {
  restart_at_ = Clock::now() + wait;
  say_(fmt::format("{}; starting all again in {} ({})", failure, format_duration(wait), restarts_->describe(failures)));
  end_all(SIGTERM, options_.stop_grace);
}

void TaskGroup::restart() {
  restart_at_.reset();
  restart_timer_ = 0;
  cause_.reset();
  earliest_.reset();
  ending_ = kills_ = is_over_ = false;
  ++generation_;
  const auto started = start();
  if (started) return;
  say_(started.error().message);
  conclude({.code = process::exit_code_of_start_error(started.error())});
}

}  // namespace tfd::launch
