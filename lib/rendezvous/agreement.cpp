// SPDX-License-Identifier: Apache-2.0
#include "tfd/rendezvous/agreement.hpp"

#include <algorithm>

#include "tfd/base/exit_code.hpp"
#include "tfd/base/text.hpp"
#include "tfd/base/units.hpp"
#include "tfd/launch/error_files.hpp"
#include "tfd/process/child.hpp"

namespace tfd::rendezvous {
namespace {

constexpr int kOthersLoss = number_of(ExitCode::kUnavailable);  // how members end because another one is lost
constexpr int kTryAgain = number_of(ExitCode::kTryAgain);
constexpr auto kCauseDelay = std::chrono::seconds(1);  // time for the lost one itself to be seen

}  // namespace

Agreement::Agreement(AgreementOptions options, Clock::time_point now)
    : options_(options), restarts_(options.max_failures, now), gathering_(options_.report, now), last_change_(now) {}

int Agreement::tasks() const {
  std::size_t tasks = 0;
  for (const auto& [id, launcher] : launchers_) tasks += launcher.joining.addresses.size();
  return static_cast<int>(tasks);
}

int Agreement::count() const { return options_.bounds.counts_tasks ? tasks() : static_cast<int>(launchers_.size()); }

launch::Standings Agreement::standings() const {
  launch::Standings all;
  for (const auto& [id, launcher] : launchers_) {
    all.running += launcher.standings.running;
    all.alone += launcher.standings.alone;
    all.members += launcher.standings.members;
    all.done += launcher.standings.done;
  }
  return all;
}

/// True if tasks run, and all of them continue without those that have ended, and with those that come.
bool Agreement::goes_on() const {
  return options_.bounds.is_elastic && phase_ == Phase::kRunning && standings().go_on();
}

Result<void> Agreement::check_same(const Joining& joining) const {
  if (launchers_.empty()) return {};
  const Joining& first = launchers_.begin()->second.joining;
  for (std::size_t i = 0; i < std::max(first.same.size(), joining.same.size()); ++i) {
    const bool has_both = i < first.same.size() && i < joining.same.size();
    if (has_both && first.same[i] == joining.same[i]) continue;
    if (!has_both || first.same[i].first != joining.same[i].first)
      return fail(Code::kFailedPrecondition, "{} and {} have different versions of tfd", printable(first.host),
                  printable(joining.host));
    const auto shown = [](const std::string& value) { return value.empty() ? std::string("none") : printable(value); };
    return fail(Code::kFailedPrecondition, "the launchers differ in {}: {} has {}, {} has {}", first.same[i].first,
                printable(first.host), shown(first.same[i].second), printable(joining.host),
                shown(joining.same[i].second));
  }
  return {};
}

Result<void> Agreement::check_room(const Joining& joining) const {
  const auto own = static_cast<int>(joining.addresses.size());
  const int more = options_.bounds.counts_tasks ? own : 1;
  if (phase_ == Phase::kOver || (phase_ == Phase::kEnding && !starts_again_))
    return fail(Code::kFailedPrecondition, "the group is ending: {} comes too late", printable(joining.host));
  if (phase_ != Phase::kGathering && !options_.bounds.is_elastic)
    return fail(Code::kFailedPrecondition, "the group has started without {}, and takes nobody else without MIN:MAX",
                printable(joining.host));
  if (count() + more > options_.bounds.most)
    return fail(
        Code::kResourceExhausted, "{} is too many: the group has {} of at most {}", printable(joining.host), count(),
        counted(static_cast<std::uint64_t>(options_.bounds.most), options_.bounds.counts_tasks ? "task" : "launcher"));
  // Members know how many there may be from their start on.
  if (goes_on() && tasks() + own > most_tasks_)
    return fail(Code::kResourceExhausted, "{} brings {}: the group has {} of at most {} tasks", printable(joining.host),
                counted(static_cast<std::uint64_t>(own), "task"), tasks(), most_tasks_);
  return {};
}

Result<void> Agreement::join(LauncherId id, Joining joining, Clock::time_point now) {
  if (launchers_.contains(id)) return {};  // it asks again, for it didn't get the answer
  TFD_TRY(check_same(joining));
  TFD_TRY(check_room(joining));
  int place = 0;
  while (std::ranges::any_of(launchers_, [&](const auto& one) { return one.second.place == place; })) ++place;
  const std::string host = printable(joining.host);
  if (phase_ == Phase::kGathering && gathering_.has_reported())
    send_all(
        {.kind = Command::Kind::kSay, .line = fmt::format("{} has joined after {}", host, gathering_.waited(now))});
  launchers_.emplace(id, Launcher{.joining = std::move(joining), .place = place});
  has_changed_ = true;
  last_change_ = now;
  if (goes_on()) {
    admit(id);
  } else if (phase_ == Phase::kRunning) {
    starts_again_ = true;
    halt(fmt::format("{} joins; starting all again", host));
  }
  check_end(now);
  tick(now);
  return {};
}

void Agreement::lose(LauncherId id, const std::string& why, Clock::time_point now) {
  const auto found = launchers_.find(id);
  if (found == launchers_.end()) return;
  const Launcher gone = std::move(found->second);
  launchers_.erase(found);
  has_changed_ = true;
  last_change_ = now;
  if (phase_ == Phase::kRunning && gone.is_leaving) {
    ++generation_;
  } else if (phase_ == Phase::kRunning) {
    const std::string loss = fmt::format("the launcher of {} is lost ({}), and {} with it",
                                         printable(gone.joining.host), printable(why), names_of_tasks(gone.ranks));
    if (goes_on()) {
      go_on_without(loss, now);
    } else {
      cause_ = Report{.line = loss, .code = kOthersLoss};
      cause_at_ = id;
      if (!finish_at_)
        decide(now);
      else if (!decide_at_)
        decide_at_ = now + kCauseDelay;
    }
  }
  check_end(now);
  tick(now);
}

void Agreement::report(LauncherId id, const Report& report, Clock::time_point now) {
  const auto found = launchers_.find(id);
  if (found == launchers_.end() || phase_ == Phase::kOver) return;
  const bool is_current = report.generation >= found->second.started && generation_ > 0;
  if (found->second.is_leaving && report.kind != Report::Kind::kIdle) return;
  switch (report.kind) {
    case Report::Kind::kFailed:
      if (is_current) on_failure(id, report, now);
      break;
    case Report::Kind::kIdle:
      if (is_current && report.generation >= found->second.told) found->second.is_idle = true;
      break;
    case Report::Kind::kStanding:
      if (is_current) on_standing(found->second, report, now);
      break;
    case Report::Kind::kStop:
      on_stop(id, report, now);
      break;
    case Report::Kind::kLeave:
      may_leave(id) ? on_leave(id, report) : on_stop(id, report, now);
      break;
    case Report::Kind::kExpired:
      if (phase_ == Phase::kEnding && !starts_again_) break;
      has_expired_ = true;
      halt(report.line);
      starts_again_ = false;
      break;
  }
  check_end(now);
}

void Agreement::on_failure(LauncherId id, const Report& failure, Clock::time_point now) {
  std::optional<Report>& earliest = launchers_.at(id).earliest;
  if (!earliest || failure.time < earliest->time) earliest = failure;
  if (phase_ == Phase::kEnding) {
    // Where a signal asked for the end, the first to fail isn't ended by us.
    if (cause_ || asked_signal_ == 0) return;
    cause_ = failure;
    cause_at_ = id;
    if (failure.signal != asked_signal_) send_all({.kind = Command::Kind::kSay, .line = failure.line});
    return;
  }
  if (phase_ != Phase::kRunning) return;
  if (failure.is_refused && goes_on() && standings().may_refuse(failure.code))
    return refuse(launchers_.at(id), failure);
  const bool is_of_task = !failure.task.empty();  // else the launcher itself can't go on
  if (is_of_task) launchers_.at(id).failed.push_back(failure.task);
  failures_.add({.code = failure.code, .signal = failure.signal}, failure.cause);
  // A task that ends because another one is lost isn't the cause, though it may be seen first.
  const bool is_consequence = failure.code == kOthersLoss;
  if (!cause_ || !is_consequence) {
    cause_ = failure;
    cause_at_ = id;
  }
  // Several tasks of a group that goes on may die of one cause.
  if (!is_consequence && (cause_->is_final || !(goes_on() && is_of_task)) && !finish_at_) return decide(now);
  if (!decide_at_) decide_at_ = now + kCauseDelay;
}

void Agreement::on_stop(LauncherId id, const Report& stop, Clock::time_point now) {
  if (stop.count <= stops_) return;
  stops_ = stop.count;
  if (asked_signal_ == 0) asked_signal_ = stop.signal;
  if (phase_ == Phase::kGathering || starts_again_) is_cut_short_ = true;
  starts_again_ = false;
  const Command command{
      .kind = Command::Kind::kStop,
      .line = fmt::format("{} at {}", launch::signal_name(stop.signal), printable(launchers_.at(id).joining.host)),
      .signal = stop.signal,
      .count = stop.count};
  for (const auto& [other, launcher] : launchers_)
    if (other != id) commands_.emplace_back(other, command);
  phase_ = Phase::kEnding;
  decide_at_.reset();
  finish_at_.reset();
  done_at_.reset();
  check_end(now);
}

/// True if enough others are left, and continue. Never for the holder, since nobody could join without it.
bool Agreement::may_leave(LauncherId id) const {
  if (id == kHolder || !goes_on()) return false;
  int left = 0;
  for (const auto& [other, launcher] : launchers_)
    if (other != id && !launcher.is_leaving)
      left += options_.bounds.counts_tasks ? static_cast<int>(launcher.joining.addresses.size()) : 1;
  return left >= options_.bounds.least;
}

void Agreement::on_leave(LauncherId id, const Report& stop) {
  Launcher& leaving = launchers_.at(id);
  leaving.is_leaving = true;
  leaving.standings = {};
  leaving.failed.clear();
  leaving.earliest.reset();
  const std::string line = fmt::format("{} at {}: it leaves, and the others go on", launch::signal_name(stop.signal),
                                       printable(leaving.joining.host));
  send_all({.kind = Command::Kind::kSay, .line = line});
}

void Agreement::on_standing(Launcher& launcher, const Report& report, Clock::time_point now) {
  const bool has_ended_well = report.standings.done > launcher.standings.done;
  launcher.standings = report.standings;
  const bool is_done = has_ended_well && options_.bounds.is_elastic && phase_ == Phase::kRunning;
  // A member that still runs after the last step is frozen or cut off, and cannot say so.
  if (is_done && report.standings.is_over && !done_at_) done_at_ = now + options_.grace;
  if (standings().members > 0)
    finish_at_.reset();
  else if (is_done)
    finish_at_ = now + kCauseDelay;  // time to hear of another member
}

/// The cause is known: the others are ended, if they don't go on.
void Agreement::decide(Clock::time_point now) {
  decide_at_.reset();
  std::string line = cause_->line;
  const int failures = std::exchange(failures_, {}).count();
  if (options_.bounds.is_elastic && !cause_->is_final) {
    const bool are_replaced = goes_on() && !cause_->task.empty();
    const bool is_preempted = launch::Restarts::is_preemption({.code = cause_->code, .signal = cause_->signal});
    // All start again once, however many have failed.
    const int counted = are_replaced && failures > 0 ? failures : is_preempted ? 0 : 1;
    if (const auto wait = restarts_.on_failure(now, counted, cause_->task, cause_->step)) {
      if (are_replaced) return replace(line, *wait, counted);
      if (is_short_ && cause_->code == kTryAgain) return give_up(now);  // they have waited for others, too
      not_before_ = now + *wait;
      starts_again_ = true;
      return halt(
          fmt::format("{}; starting all again in {} ({})", line, format_duration(*wait), restarts_.describe(counted)));
    }
    line += "; " + restarts_.too_many();
  }
  halt(line);
}

/// Only those that failed are started again, each by its launcher.
void Agreement::replace(const std::string& failure, Duration wait, int failures) {
  std::vector<std::string> names;
  for (const auto& [id, launcher] : launchers_) std::ranges::copy(launcher.failed, std::back_inserter(names));
  const std::string line = fmt::format("{}; starting {} again in {} ({})", failure, join_words(names),
                                       format_duration(wait), restarts_.describe(failures));
  for (auto& [id, launcher] : launchers_) {
    launcher.earliest.reset();
    if (std::exchange(launcher.failed, {}).empty()) {
      commands_.emplace_back(id, Command{.kind = Command::Kind::kSay, .line = line});
      continue;
    }
    launcher.is_idle = false;
    launcher.told = generation_;
    commands_.emplace_back(
        id, Command{.kind = Command::Kind::kReplace, .line = line, .plan = plan_to_join(launcher), .wait = wait});
  }
  ++generation_;
  cause_.reset();
}

/// A launcher is lost, and the tasks of the others go on.
void Agreement::go_on_without(const std::string& loss, Clock::time_point now) {
  if (!restarts_.on_failure(now, 1)) {
    cause_ = Report{.line = loss, .code = kOthersLoss};
    decide_at_.reset();
    return halt(loss + "; " + restarts_.too_many());
  }
  send_all(
      {.kind = Command::Kind::kSay, .line = fmt::format("{}; the others go on ({})", loss, restarts_.describe(1))});
  ++generation_;
  if (std::ranges::all_of(launchers_, [](const auto& one) { return one.second.failed.empty(); })) {
    decide_at_.reset();  // those that had failed are lost with it
    cause_.reset();
    failures_.clear();
  }
  look_for_enough(now);
}

/// Waits for others, if a launcher that is missing now has left too few.
void Agreement::look_for_enough(Clock::time_point now) {
  if (is_short_ || count() >= options_.bounds.least) return;
  is_short_ = true;
  gathering_.begin(now);
}

/// A task that the members don't take in isn't started again, nor are they ended for it.
void Agreement::refuse(Launcher& launcher, const Report& failure) {
  if (!launcher.refused) launcher.refused = failure;
  launcher.earliest.reset();
  send_all({.kind = Command::Kind::kSay, .line = failure.line + "; the others go on without it"});
}

/// The code of a launcher that is over before the others: it leaves, and its state is with them; or it has no task
/// left, since they didn't take them in, and none of its tasks ended well. The holder goes on in that case.
std::optional<int> Agreement::code_alone(LauncherId id, const Launcher& launcher) const {
  if (!launcher.is_idle) return std::nullopt;
  if (launcher.is_leaving) return kTryAgain;
  const bool is_refused = launcher.refused && launcher.failed.empty() && launcher.standings.done == 0;
  return is_refused && id != kHolder && goes_on() ? std::optional(launcher.refused->code) : std::nullopt;
}

void Agreement::dismiss(Clock::time_point now) {
  for (auto at = launchers_.begin(); at != launchers_.end();) {
    const auto code = code_alone(at->first, at->second);
    if (!code) {
      ++at;
      continue;
    }
    commands_.emplace_back(at->first, Command{.kind = Command::Kind::kEnd, .code = *code});
    at = launchers_.erase(at);
    has_changed_ = true;
    last_change_ = now;
    ++generation_;
  }
  if (goes_on()) look_for_enough(now);
}

/// Nobody has replaced the lost launchers.
void Agreement::give_up(Clock::time_point now) {
  has_expired_ = true;
  starts_again_ = false;
  decide_at_.reset();
  halt(fmt::format("gave up waiting for {} (--join)", missing(now)));
}

/// Reports now and then which launchers are missing.
void Agreement::say_missing(Clock::time_point now) {
  if (gathering_.take_due(now))
    send_all({.kind = Command::Kind::kSay, .line = fmt::format("waiting for {}", missing(now))});
}

void Agreement::wait_for_others(Clock::time_point now) {
  if (now - gathering_.since() >= options_.join) {
    give_up(now);
    return check_end(now);
  }
  say_missing(now);
}

void Agreement::halt(const std::string& line) {
  phase_ = Phase::kEnding;
  finish_at_.reset();
  done_at_.reset();
  send_all({.kind = Command::Kind::kHalt, .line = line});
}

/// Continues once all tasks have ended.
void Agreement::check_end(Clock::time_point now) {
  if (phase_ != Phase::kRunning && phase_ != Phase::kEnding) return;
  dismiss(now);
  if (!std::ranges::all_of(launchers_, [](const auto& one) { return one.second.is_idle; })) return;
  if (std::exchange(finish_at_, std::nullopt)) {  // earlier failures aren't waited for
    decide_at_.reset();
    cause_.reset();
    failures_.clear();
  }
  if (decide_at_) decide(now);
  if (cause_ && !cause_->task.empty() && launchers_.contains(cause_at_)) {
    // Clocks of two hosts aren't compared.
    const auto& earliest = launchers_.at(cause_at_).earliest;
    if (earliest && earliest->task != cause_->task && !earliest->cause.empty() &&
        !launch::is_one_cause(earliest->cause, cause_->cause))
      send_all({.kind = Command::Kind::kSay,
                .line = fmt::format("{} failed before that: {}", earliest->task, earliest->cause)});
  }
  if (starts_again_) return gather(now);
  if (has_expired_) return end(kTryAgain, 0, "");
  if (is_cut_short_) return end(128 + asked_signal_, asked_signal_, "");
  if (!cause_) return end(0, 0, "");
  const bool by_signal = asked_signal_ != 0 && cause_->signal == asked_signal_;
  end(cause_->code, by_signal ? asked_signal_ : 0, "");
}

void Agreement::gather(Clock::time_point now) {
  phase_ = Phase::kGathering;
  starts_again_ = false;
  cause_.reset();
  gathering_.begin(now);
  enough_since_.reset();
  tick(now);
}

/// "1 more launcher; 10.0.0.1 and 10.0.0.2 are here (10s so far)".
std::string Agreement::missing(Clock::time_point now) const {
  std::vector<std::string> hosts;
  for (const auto& [id, launcher] : launchers_) hosts.push_back(printable(launcher.joining.host));
  const auto more = static_cast<std::uint64_t>(options_.bounds.least - count());
  return fmt::format("{}{}; {} {} here{} ({} so far)", options_.bounds.counts_tasks ? "launchers with " : "",
                     options_.bounds.counts_tasks ? counted(more, "more task") : counted(more, "more launcher"),
                     hosts.empty() ? "nobody" : join_words(hosts), hosts.size() < 2 ? "is" : "are",
                     has_turned_away_ ? ", and a launcher with another key, or none, was rejected" : "",
                     gathering_.waited(now));
}

void Agreement::tick(Clock::time_point now) {
  std::string line;
  if (phase_ == Phase::kRunning && done_at_ && now >= *done_at_) {
    line = fmt::format("the training is done; ending those that haven't ended {} after it",
                       format_duration(options_.grace));
    finish_at_ = now;
  }
  if (finish_at_ && now >= *finish_at_) {  // joining or restarting tasks aren't needed now
    decide_at_.reset();
    cause_.reset();
    failures_.clear();
    halt(line);
    check_end(now);
  }
  if (decide_at_ && now >= *decide_at_ && phase_ == Phase::kRunning) {
    decide(now);
    check_end(now);
  }
  if (phase_ == Phase::kRunning && is_short_) return wait_for_others(now);
  if (phase_ != Phase::kGathering) return;
  const bool is_enough = count() >= options_.bounds.least;
  if (!is_enough)
    enough_since_.reset();
  else if (!enough_since_)
    enough_since_ = now;
  if (const auto when = start_time(); when && now >= *when) return start();
  if (is_enough) return;
  if (now - gathering_.since() >= options_.join)
    return end(kTryAgain, 0, fmt::format("gave up waiting for {} (--join)", missing(now)));
  say_missing(now);
}

Clock::time_point Agreement::next() const {
  if (phase_ == Phase::kRunning) {
    const auto never = Clock::time_point::max();
    const auto others = std::min(gathering_.next(), gathering_.since() + options_.join);
    return std::min(
        {decide_at_.value_or(never), finish_at_.value_or(never), done_at_.value_or(never), is_short_ ? others : never});
  }
  if (phase_ != Phase::kGathering) return Clock::time_point::max();
  if (const auto when = start_time()) return *when;
  return std::min(gathering_.next(), gathering_.since() + options_.join);
}

void Agreement::end(int code, int signal, const std::string& line) {
  phase_ = Phase::kOver;
  send_all({.kind = Command::Kind::kEnd, .line = line, .code = code, .signal = signal});
}

void Agreement::send_all(const Command& command) {
  for (const auto& [id, launcher] : launchers_) commands_.emplace_back(id, command);
}

}  // namespace tfd::rendezvous
