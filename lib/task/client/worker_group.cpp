// SPDX-License-Identifier: Apache-2.0
#include "tfd/task/worker_group.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include "tfd/base/text.hpp"
#include "tfd/base/units.hpp"
#include "tfd/base/wait_report.hpp"
#include "tfd/task/epoch.hpp"

namespace tfd::task {
namespace {

constexpr const char* kStopped = "stopped";
constexpr const char* kComplete = "1";
constexpr const char* kWorkers = "workers";
constexpr const char* kChief = "chief";

constexpr Duration kLook = std::chrono::milliseconds(500);  // between two looks at what the others do
constexpr Duration kTalkAfter = std::chrono::seconds(2);    // others end within seconds, or are given up
constexpr Duration kTalkEvery = std::chrono::seconds(30);
constexpr Duration kGone = std::chrono::seconds(5);  // time for a restart
constexpr Duration kAnswer = std::chrono::seconds(60);
constexpr std::size_t kMostNamed = 8;  // workers that a line names

std::string updates_of(const std::string& worker) { return "updates/" + worker; }

}  // namespace

WorkerGroup::WorkerGroup(transport::Endpoint& endpoint, TaskClient service, CoordinationClient run,
                         WorkerGroupOptions options)
    : endpoint_(endpoint), service_(std::move(service)), run_(std::move(run)), options_(std::move(options)) {}

Result<void> WorkerGroup::become_chief() {
  const Claim self = make_claim();
  process_ = fmt::format("{} (process {})", self.host, self.pid);
  TFD_TRY(run_.put(kChief, process_, Deadline::after(kAnswer)));
  return {};
}

Result<void> WorkerGroup::check_chief() const {
  if (process_.empty()) return {};
  const auto now = TFD_TRY(run_.get(kChief, Deadline::after(kAnswer)));
  if (now.value == process_) {
    const auto stopped = TFD_TRY(run_.get(kStopped, Deadline::after(kAnswer)));
    const bool has_failed = stopped.version != 0 && stopped.value != kComplete;
    return has_failed ? fail(Code::kInternal, "{}", stopped.value) : Result<void>();
  }
  return fail(Code::kPermissionDenied, "another {} has taken the training over: the one on {}", chief(), now.value);
}

Result<void> WorkerGroup::join() {
  const Deadline deadline = Deadline::after(kAnswer);
  updates_before_ = TFD_TRY(run_.read_counters({updates_of(options_.self)}, deadline)).front();
  const auto stopped = TFD_TRY(run_.get(kStopped, deadline));
  stopped_ = stopped.version != 0;
  if (is_chief()) return {};
  TFD_TRY(run_.join(kWorkers, options_.self, deadline));
  membership_ = std::make_unique<Membership>(endpoint_, service_, kWorkers, options_.self, kStopped, stopped);
  return {};
}

Result<void> WorkerGroup::leave() {
  membership_.reset();
  const auto left = run_.leave(kWorkers, options_.self, Deadline::after(kAnswer));
  if (!left && left.error().code == Code::kPermissionDenied) return {};  // in another run nobody waits for it
  return left;
}

// The request travels beside the update.
void WorkerGroup::count_update() {
  service_.coordinate({AddCounters{{{updates_of(options_.self), 1}}}}, Deadline::after(kAnswer),
                      [](const Result<CoordinationAnswer>&) {});
}

Result<void> WorkerGroup::stop_all(const std::string& failure) {
  stopped_ = true;
  TFD_TRY(run_.put(kStopped, failure.empty() ? kComplete : failure, Deadline::after(kAnswer)));
  return {};
}

std::string WorkerGroup::failure() const {
  const std::string value = membership_ && membership_->watched().version != 0 ? membership_->watched().value : "";
  return value == kComplete ? "" : value;
}

Result<bool> WorkerGroup::read_stopped() const {
  return TFD_TRY(run_.get(kStopped, Deadline::after(kAnswer))).version != 0;
}

bool WorkerGroup::has_stopped() const { return stopped_ || (membership_ && membership_->watched().version != 0); }

/// The chief's view of a worker that it waits for.
struct WorkerGroup::Other {
  std::string name;
  std::int64_t updates = 0;
  std::optional<MemberState> state = {};  // none: it never came
  Clock::time_point worked_at = Clock::now();
  Clock::time_point changed_at = worked_at;  // its state

  bool has_left() const { return state == MemberState::kLeft; }
  void has_made(std::int64_t updates_now) {
    if (std::exchange(updates, updates_now) != updates_now) worked_at = Clock::now();
  }
  void is_now(MemberState state_now) {
    if (state == state_now) return;
    state = state_now;
    worked_at = changed_at = Clock::now();
  }
};

/// All of them, and what the chief knows of the group.
struct WorkerGroup::Others {
  explicit Others(const std::vector<std::string>& workers) {
    for (std::size_t i = 1; i < workers.size(); ++i) {
      by_name.emplace(workers[i], all.size());
      all.push_back({workers[i]});
      counters.push_back(updates_of(workers[i]));
    }
  }
  std::vector<Other> all;
  std::map<std::string, std::size_t> by_name;
  std::vector<std::string> counters;  // of their updates
  std::uint64_t version = 0;          // of the group
  Deadline count = Deadline::after(Duration::zero());
};

/// Looks once workers come or go, or at the deadline: at those that did, and now and then at what all have made.
Result<void> WorkerGroup::look_at(Others& others, Deadline deadline) const {
  const auto stop = is_stopping() ? std::stop_token() : options_.interruption;
  const auto group = run_.wait_for_members(kWorkers, others.version, deadline, stop);
  if (!group && group.error().code == Code::kCancelled) return {};
  if (!group) return fail(group.error());
  others.version = group->version;
  for (const GroupMember& member : group->members)
    if (const auto found = others.by_name.find(member.name); found != others.by_name.end())
      others.all[found->second].is_now(member.state);
  if (!others.count.expired()) return {};
  const auto updates = TFD_TRY(run_.read_counters(others.counters, Deadline::after(kAnswer)));
  for (std::size_t i = 0; i < others.all.size(); ++i) others.all[i].has_made(updates[i]);
  others.count = Deadline::after(std::min<Duration>(kLook, options_.linger / 8));
  return {};
}

/// Reason why a worker isn't waited for any longer; nullopt while it is.
std::optional<std::string> WorkerGroup::why_given_up(const Other& other) const {
  const auto now = Clock::now();
  if (other.state == MemberState::kGone && now - other.changed_at >= kGone)
    return fmt::format("{} is gone: it ended without a goodbye, and hasn't come back within {}", other.name,
                       format_duration(kGone));
  if (now - other.worked_at < options_.linger) return std::nullopt;
  return fmt::format("{} {} {}", other.name, other.state ? "made no progress for" : "did not appear within",
                     format_duration(options_.linger));
}

std::vector<std::string> WorkerGroup::names_of(const std::vector<const Other*>& others) {
  std::vector<std::string> names;
  for (const Other* other : others) {
    if (names.size() == kMostNamed) {
      names.push_back(counted(others.size() - kMostNamed, "other"));
      break;
    }
    names.push_back(other->name);
  }
  return names;
}

Result<bool> WorkerGroup::wait(const Wait& how) {
  Others others(options_.workers);
  WaitReport report(kTalkAfter, kTalkEvery);
  TFD_TRY(look_at(others, Deadline::after(Duration::zero())));
  for (;;) {
    std::vector<std::string> reasons;
    std::vector<const Other*> missing;
    for (const Other& other : others.all) {
      if (other.has_left()) continue;
      if (const auto reason = how.gives_up ? why_given_up(other) : std::nullopt)
        reasons.push_back(*reason);
      else
        missing.push_back(&other);
    }
    if (missing.empty() || (how.gives_up && is_stopping())) {
      for (const std::string& reason : reasons) options_.log.warning("{}: ending without it", reason);
      return true;
    }
    if (how.deadline.expired()) return false;
    if (report.take_due() && options_.say)
      options_.say(report.line(fmt::format("{} {}", fmt::join(names_of(missing), ", "), how.what)));
    TFD_TRY(look_at(others, Deadline::after(kLook).earlier_of(how.deadline)));
  }
}

Result<void> WorkerGroup::wait_for_others() {
  TFD_TRY(wait({Deadline::never(), true, "to end"}));
  return {};
}

Result<bool> WorkerGroup::have_others_left(Deadline deadline) { return wait({deadline, false, "to leave"}); }

}  // namespace tfd::task
