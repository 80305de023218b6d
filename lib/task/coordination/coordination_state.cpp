// SPDX-License-Identifier: Apache-2.0
#include "coordination_state.hpp"

#include <unistd.h>

#include <algorithm>
#include <utility>

#include "tfd/base/environment.hpp"
#include "tfd/base/random.hpp"
#include "tfd/base/text.hpp"
#include "tfd/base/units.hpp"

namespace tfd::task {
namespace {

Result<void> check_name(const std::string& name) {
  if (!name.empty() && name.size() <= kMostNameBytes) return {};
  return fail(Code::kInvalidArgument, "a name of {} bytes, where 1 to {} are allowed", name.size(), kMostNameBytes);
}

Error too_many(std::string_view what, std::size_t most) {
  return {Code::kResourceExhausted, fmt::format("more than {} {}", most, what), {}};
}

}  // namespace

CoordinationState::Replies CoordinationState::apply(Connection connection, Ticket ticket,
                                                    const CoordinationRequest& request) {
  Replies replies;
  auto decision = decide(connection, request, replies);
  if (decision && !*decision) {  // there is nothing newer
    const Waiting waiting = waiting_for(connection, request);
    const auto waits = request.wait_ms > 0 ? wait(ticket, waiting) : Result<void>();
    if (request.wait_ms > 0 && waits) return replies;
    decision = waits ? Decision(stand(waiting.subject, waiting.after)) : fail(waits.error());
  }
  if (decision)
    replies.push_back({ticket, std::move(**decision)});
  else
    replies.push_back({ticket, fail(std::move(decision).error())});
  return replies;
}

CoordinationState::Waiting CoordinationState::waiting_for(Connection connection, const CoordinationRequest& request) {
  return std::visit(
      [connection](const auto& what) -> Waiting {
        using What = std::decay_t<decltype(what)>;
        if constexpr (std::is_same_v<What, GetKey>) return {connection, {SubjectKind::kKey, what.key}, what.after, {}};
        if constexpr (std::is_same_v<What, ReadGroup>)
          return {connection, {SubjectKind::kGroup, what.group}, what.after, {}};
        if constexpr (std::is_same_v<What, TakeNumbers>)
          return {connection, {SubjectKind::kNumbers, what.queue}, {}, what};
        return {};
      },
      request.what);
}

template <class State>
CoordinationState::Decision CoordinationState::look(const Subject& subject,
                                                    const std::optional<std::uint64_t>& after) const {
  TFD_TRY(check_name(subject.second));
  auto now = stand(subject, after);
  if (after && std::get<State>(now).version <= *after) return std::nullopt;
  return now;
}

CoordinationState::Decision CoordinationState::decide(Connection connection, const CoordinationRequest& request,
                                                      Replies& replies) {
  return std::visit(
      [&](const auto& what) -> Decision {
        using What = std::decay_t<decltype(what)>;
        if constexpr (std::is_same_v<What, GetKey>) return look<KeyState>({SubjectKind::kKey, what.key}, what.after);
        if constexpr (std::is_same_v<What, PutKey>) return put(what, replies);
        if constexpr (std::is_same_v<What, AddCounters>) return add(what);
        if constexpr (std::is_same_v<What, JoinGroup>) return join(connection, what, replies);
        if constexpr (std::is_same_v<What, LeaveGroup>) return leave(connection, what, replies);
        if constexpr (std::is_same_v<What, ReadGroup>)
          return look<GroupState>({SubjectKind::kGroup, what.group}, what.after);
        if constexpr (std::is_same_v<What, TakeNumbers>) return take(connection, what, replies);
      },
      request.what);
}

CoordinationState::Decision CoordinationState::put(const PutKey& put, Replies& replies) {
  TFD_TRY(check_name(put.key));
  if (put.key.front() == '.') return fail(Code::kPermissionDenied, "'{}' is the service's own", printable(put.key));
  if (put.value.size() > kMostValueBytes)
    return fail(Code::kResourceExhausted, "a value of {} bytes, where {} are allowed", put.value.size(),
                kMostValueBytes);
  const auto found = keys_.find(put.key);
  const std::uint64_t version = found == keys_.end() ? 0 : found->second.version;
  if (put.expected && version != *put.expected)
    return fail(Code::kFailedPrecondition, "'{}' has version {}, not {}", printable(put.key), version, *put.expected);
  const std::size_t before = found == keys_.end() ? 0 : found->second.value.size();
  if (found == keys_.end() && keys_.size() >= kMostNames) return fail(too_many("keys", kMostNames));
  if (kept_bytes_ - before + put.value.size() > kMostKeptBytes)
    return fail(too_many("bytes of values", kMostKeptBytes));
  for (Reply& reply : put_own(put.key, put.value)) replies.push_back(std::move(reply));
  return KeyState{{}, revision_};
}

std::string CoordinationState::value_of(const std::string& key) const {
  const auto found = keys_.find(key);
  return found == keys_.end() ? "" : found->second.value;
}

CoordinationState::Replies CoordinationState::put_own(const std::string& key, std::string value) {
  Replies replies;
  KeyState& state = keys_[key];
  kept_bytes_ = kept_bytes_ - state.value.size() + value.size();
  state = {std::move(value), ++revision_};
  changed({SubjectKind::kKey, key}, replies);
  return replies;
}

CoordinationState::Decision CoordinationState::add(const AddCounters& add) {
  std::size_t fresh = 0;
  for (const auto& [name, delta] : add.deltas) {
    TFD_TRY(check_name(name));
    if (delta != 0 && !counters_.contains(name)) ++fresh;
  }
  if (counters_.size() + fresh > kMostNames) return fail(too_many("counters", kMostNames));
  CounterValues out;
  for (const auto& [name, delta] : add.deltas) {
    const auto found = counters_.find(name);
    auto value = static_cast<std::uint64_t>(found == counters_.end() ? 0 : found->second);
    value += static_cast<std::uint64_t>(delta);  // wraps on overflow: the numbers are a client's
    if (delta != 0) counters_[name] = static_cast<std::int64_t>(value);
    out.values.push_back(static_cast<std::int64_t>(value));
  }
  return out;
}

Result<void> CoordinationState::count_name() {
  if (names_ >= kMostNames) return fail(too_many("names", kMostNames));
  ++names_;
  return {};
}

CoordinationState::Decision CoordinationState::join(Connection connection, const JoinGroup& join, Replies& replies) {
  TFD_TRY(check_name(join.group));
  TFD_TRY(check_name(join.member));
  const auto group = groups_.find(join.group);
  const bool is_known = group != groups_.end() && group->second.members.contains(join.member);
  if (!is_known) TFD_TRY(count_name());
  const auto found = is_known ? group->second.members.at(join.member) : Member();
  if (found.state != MemberState::kHere || found.connection != connection)
    change_member(join.group, join.member, MemberState::kHere, connection, replies);
  return GroupState{groups_[join.group].version, {}};
}

CoordinationState::Decision CoordinationState::leave(Connection connection, const LeaveGroup& leave, Replies& replies) {
  TFD_TRY(check_name(leave.group));
  TFD_TRY(check_name(leave.member));
  const auto group = groups_.find(leave.group);
  if (group == groups_.end() || !group->second.members.contains(leave.member))
    return fail(Code::kNotFound, "'{}' is no member of '{}'", printable(leave.member), printable(leave.group));
  const Member& member = group->second.members.at(leave.member);
  if (member.state == MemberState::kHere && member.connection != connection)
    return fail(Code::kFailedPrecondition, "'{}' is another member of '{}' by now", printable(leave.member),
                printable(leave.group));
  if (member.state != MemberState::kLeft)
    change_member(leave.group, leave.member, MemberState::kLeft, connection, replies);
  return GroupState{group->second.version, {}};
}

void CoordinationState::change_member(const std::string& group, const std::string& member, MemberState to,
                                      Connection connection, Replies& replies) {
  Group& its = groups_[group];
  Member& changed_one = its.members[member];
  if (changed_one.state == MemberState::kHere) members_of_.remove(changed_one.connection, {group, member});
  if (to == MemberState::kHere) members_of_.add(connection, {group, member});
  its.changes.erase(changed_one.version);
  its.version = ++revision_;
  its.changes.emplace(its.version, member);
  changed_one = {to, connection, its.version};
  changed({SubjectKind::kGroup, group}, replies);
}

CoordinationState::Decision CoordinationState::take(Connection connection, const TakeNumbers& take, Replies& replies) {
  TFD_TRY(check_name(take.queue));
  TFD_TRY(check_name(take.name));
  if (take.end.value_or(0) < 0 || take.end.value_or(0) > kMostNumber || take.most > kMostNumbers || take.sharers == 0)
    return fail(Code::kInvalidArgument, "numbers range from 0 to {}, and at most {} are leased at once", kMostNumber,
                kMostNumbers);
  if (!queues_.contains(take.queue)) TFD_TRY(count_name());
  StepLeases& queue = queues_[take.queue];
  queues_of_.add(connection, take.queue);
  const auto taken = queue.take(connection, take, is_applied_);
  serve(take.queue, replies);
  if (taken.count == 0 && !taken.is_over && take.most > 0) return std::nullopt;
  return taken;
}

CoordinationAnswer CoordinationState::stand(const Subject& subject, const std::optional<Version>& after) const {
  const auto& [kind, name] = subject;
  if (kind == SubjectKind::kNumbers) {  // of a client that has found none
    const auto found = queues_.find(name);
    return NumbersState{.held_by = found == queues_.end() ? std::vector<std::string>() : found->second.holders()};
  }
  if (kind == SubjectKind::kKey) {
    const auto found = keys_.find(name);
    return found == keys_.end() ? KeyState() : found->second;
  }
  const auto found = groups_.find(name);
  return found == groups_.end() ? GroupState() : stand(found->second, after);
}

GroupState CoordinationState::stand(const Group& group, const std::optional<Version>& after) const {
  GroupState out{group.version, {}};
  if (after)
    for (auto change = group.changes.upper_bound(*after); change != group.changes.end(); ++change)
      out.members.push_back({change->second, group.members.at(change->second).state});
  else
    for (const auto& [member, its] : group.members) out.members.push_back({member, its.state});
  return out;
}

Result<void> CoordinationState::wait(Ticket ticket, Waiting waiting) {
  if (waiting_.size() >= kMostWaiting) return fail(too_many("waiting requests", kMostWaiting));
  if (waits_of_.count(waiting.connection) >= kMostWaitingOfOne)
    return fail(too_many("waiting requests of one task", kMostWaitingOfOne));
  waits_of_.add(waiting.connection, ticket);
  waiters_[waiting.subject].insert(ticket);
  waiting_.emplace(ticket, std::move(waiting));
  return {};
}

void CoordinationState::forget(Ticket ticket) {
  const auto waiting = waiting_.extract(ticket);
  waits_of_.remove(waiting.mapped().connection, ticket);
  const auto waiters = waiters_.find(waiting.mapped().subject);
  waiters->second.erase(ticket);
  if (waiters->second.empty()) waiters_.erase(waiters);
}

/// Answers all requests that wait for the subject: each waits for a newer version than it knew.
void CoordinationState::changed(const Subject& subject, Replies& replies) {
  const auto found = waiters_.find(subject);
  if (found == waiters_.end()) return;
  for (const Ticket ticket : std::set<Ticket>(found->second)) {
    replies.push_back({ticket, stand(subject, waiting_.at(ticket).after)});
    forget(ticket);
  }
}

/// Gives waiting clients the available numbers, in their order.
void CoordinationState::serve(const std::string& queue, Replies& replies) {
  const Subject subject{SubjectKind::kNumbers, queue};
  StepLeases& leases = queues_.at(queue);
  for (auto found = waiters_.find(subject); found != waiters_.end() && leases.has_news(is_applied_);
       found = waiters_.find(subject)) {
    const Ticket ticket = *found->second.begin();
    const Waiting& first = waiting_.at(ticket);
    replies.push_back({ticket, leases.take(first.connection, *first.take, is_applied_)});
    forget(ticket);
  }
}

CoordinationState::Replies CoordinationState::updated() {
  Replies replies;
  for (auto next = waiters_.lower_bound({SubjectKind::kNumbers, {}}); next != waiters_.end();) {
    const Subject subject = next->first;
    if (queues_.at(subject.second).knows_all()) serve(subject.second, replies);
    next = waiters_.upper_bound(subject);
  }
  return replies;
}

CoordinationState::Replies CoordinationState::wait_over(Ticket ticket) {
  const auto found = waiting_.find(ticket);
  if (found == waiting_.end()) return {};
  Replies replies{{ticket, stand(found->second.subject, found->second.after)}};
  forget(ticket);
  return replies;
}

CoordinationState::Replies CoordinationState::connection_gone(Connection connection) {
  for (const Ticket ticket : waits_of_.of(connection)) forget(ticket);
  Replies replies;
  for (const auto& [group, member] : members_of_.of(connection))
    change_member(group, member, MemberState::kGone, connection, replies);
  for (const std::string& queue : queues_of_.of(connection)) {
    queues_.at(queue).connection_gone(connection, is_applied_);
    serve(queue, replies);
    queues_of_.remove(connection, queue);
  }
  return replies;
}

CoordinationState::Replies CoordinationState::end(const Error& why) {
  Replies replies;
  for (const auto& [ticket, waiting] : waiting_) replies.push_back({ticket, fail(why)});
  waiting_.clear();
  waiters_.clear();
  waits_of_.clear();
  return replies;
}

EpochClaims::Decision EpochClaims::claim(const Caller& caller, const Claim& claim, std::uint64_t loaded,
                                         Clock::time_point now, std::optional<std::uint64_t> answered) {
  if (claim.held != 0 && holder_ && holder_->epoch != claim.held) return refusal(*holder_, now);
  if (claim.held != 0 && !holder_ && is_older(claim.held, loaded))  // whoever came since is gone
    return Error{
        Code::kPermissionDenied,
        fmt::format("{} belongs to a newer coordinator (epoch {}, the claim has {})", name_, loaded, claim.held),
        {}};
  const bool is_mine = holder_ && (holder_->connection == caller.connection || holder_->epoch == claim.held);
  if (holder_ && !is_mine && !claim.take_over) {
    if (answered == holder_->connection) return refusal(*holder_, now);
    return Ping{holder_->connection};
  }
  std::uint64_t epoch = claim.held;
  if (epoch == 0) epoch = claim.adopt && loaded != 0 ? loaded : next_++;
  const auto since = holder_ && holder_->epoch == epoch ? holder_->since : now;
  holder_ = Holder{caller.connection, caller.name, claim.host, claim.pid, since, epoch};
  return epoch;
}

void EpochClaims::is_silent(std::uint64_t connection) {
  if (holder_ && holder_->connection == connection) holder_.reset();
}

Error EpochClaims::refusal(const Holder& holder, Clock::time_point now) const {
  const auto held_for = std::chrono::duration_cast<std::chrono::seconds>(now - holder.since);
  return {Code::kPermissionDenied,
          fmt::format("{} is in use by {} on {} (process {}), for {}; --take-over takes the cluster from it", name_,
                      holder.name, holder.host, holder.pid,
                      held_for.count() == 0 ? "less than a second" : format_duration(held_for)),
          {}};
}

}  // namespace tfd::task
