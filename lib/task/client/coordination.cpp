// SPDX-License-Identifier: Apache-2.0
//
// The client half of the coordination service.
#include "tfd/task/coordination.hpp"

#include <algorithm>

#include "tfd/base/text.hpp"
#include "tfd/base/thread_annotations.hpp"
#include "tfd/base/units.hpp"
#include "tfd/task/task_client.hpp"

namespace tfd::task {
namespace {

constexpr Duration kLongestWait = std::chrono::seconds(10);  // of one request, so that a lost service is noticed
constexpr Duration kAnswer = std::chrono::seconds(60);       // in addition: the service may be suspended for a while
constexpr Duration kRetry = std::chrono::milliseconds(200);

std::uint32_t wait_until(Deadline deadline) {
  const Duration wait = std::clamp<Duration>(deadline.remaining(), Duration::zero(), kLongestWait);
  return static_cast<std::uint32_t>(std::chrono::duration_cast<std::chrono::milliseconds>(wait).count());
}

}  // namespace

template <class T>
Result<T> CoordinationClient::ask(CoordinationRequest request, Deadline deadline, const std::stop_token& stop) const {
  auto answer = TFD_TRY(ask_(request, deadline, stop));
  if (auto* state = std::get_if<T>(&answer)) return std::move(*state);
  return fail(Code::kInternal, "the coordination service answered something else");
}

template <class T>
Result<T> CoordinationClient::wait(CoordinationRequest request, Deadline deadline, const std::stop_token& stop,
                                   const std::function<bool(const T&)>& is_there) const {
  for (;;) {
    request.wait_ms = wait_until(deadline);
    const auto wait = std::chrono::milliseconds(request.wait_ms);
    auto state = TFD_TRY(ask<T>(request, Deadline::after(wait + kAnswer), stop));
    if (is_there(state) || request.wait_ms == 0 || deadline.expired()) return state;
  }
}

Result<KeyState> CoordinationClient::get(const std::string& key, Deadline deadline) const {
  return ask<KeyState>({GetKey{key, {}}}, deadline);
}

Result<KeyState> CoordinationClient::wait_for_key(const std::string& key, std::uint64_t after, Deadline deadline,
                                                  const std::stop_token& stop) const {
  return wait<KeyState>({GetKey{key, after}}, deadline, stop,
                        [after](const KeyState& state) { return state.version > after; });
}

Result<std::uint64_t> CoordinationClient::put(const std::string& key, const std::string& value, Deadline deadline,
                                              std::optional<std::uint64_t> expected) const {
  return TFD_TRY(ask<KeyState>({PutKey{key, value, expected}}, deadline)).version;
}

Result<std::vector<std::int64_t>> CoordinationClient::add(std::vector<std::pair<std::string, std::int64_t>> deltas,
                                                          Deadline deadline) const {
  const std::size_t count = deltas.size();
  auto values = TFD_TRY(ask<CounterValues>({AddCounters{std::move(deltas)}}, deadline)).values;
  if (values.size() != count) return fail(Code::kInternal, "asked for {} counters, got {}", count, values.size());
  return values;
}

Result<std::vector<std::int64_t>> CoordinationClient::read_counters(const std::vector<std::string>& names,
                                                                    Deadline deadline) const {
  std::vector<std::pair<std::string, std::int64_t>> deltas;
  for (const std::string& name : names) deltas.emplace_back(name, 0);
  return add(std::move(deltas), deadline);
}

Result<void> CoordinationClient::join(const std::string& group, const std::string& member, Deadline deadline) const {
  TFD_TRY(ask<GroupState>({JoinGroup{group, member}}, deadline));
  return {};
}

Result<void> CoordinationClient::leave(const std::string& group, const std::string& member, Deadline deadline) const {
  TFD_TRY(ask<GroupState>({LeaveGroup{group, member}}, deadline));
  return {};
}

Result<GroupState> CoordinationClient::members(const std::string& group, Deadline deadline) const {
  return ask<GroupState>({ReadGroup{group, {}}}, deadline);
}

Result<GroupState> CoordinationClient::wait_for_members(const std::string& group, std::uint64_t after,
                                                        Deadline deadline, const std::stop_token& stop) const {
  return wait<GroupState>({ReadGroup{group, after}}, deadline, stop,
                          [after](const GroupState& state) { return state.version > after; });
}

Result<NumbersState> CoordinationClient::take_numbers(const TakeNumbers& take, Deadline deadline,
                                                      const std::stop_token& stop) const {
  return wait<NumbersState>({take}, deadline, stop, [&](const NumbersState& state) {
    return state.count > 0 || state.is_over || take.most == 0;
  });
}

/// Joins, waits for changes of the watched key, and repeats, on the endpoint's I/O thread.
class Membership::Loop : public std::enable_shared_from_this<Loop> {
 public:
  Loop(transport::Endpoint& endpoint, TaskClient server, JoinGroup join, GetKey watch, KeyState known)
      : endpoint_(endpoint),
        server_(std::move(server)),
        epoch_(server_.epoch()),
        join_(std::move(join)),
        watch_(std::move(watch)),
        known_(std::move(known)) {}

  void go_on() {
    {
      const MutexLock lock(mutex_);  // no join is sent after end() and its caller's next requests
      if (is_over_ || server_.epoch() != epoch_) return;
      watch_.after = known_.version;
      server_.coordinate({join_}, Deadline::after(kAnswer), [](const Result<CoordinationAnswer>&) {});
    }
    const auto self = shared_from_this();
    const auto longest = std::chrono::duration_cast<std::chrono::milliseconds>(kLongestWait);
    server_.coordinate({watch_, static_cast<std::uint32_t>(longest.count())}, Deadline::after(longest + kAnswer),
                       [self](const Result<CoordinationAnswer>& answer) { self->heard(answer); });
  }
  void end() {
    const MutexLock lock(mutex_);
    is_over_ = true;
  }
  KeyState known() const {
    const MutexLock lock(mutex_);
    return known_;
  }

 private:
  void heard(const Result<CoordinationAnswer>& answer) {
    if (answer) {
      if (const auto* state = std::get_if<KeyState>(&*answer)) {
        const MutexLock lock(mutex_);
        if (state->version > known_.version) known_ = *state;
      }
      return go_on();
    }
    const Code code = answer.error().code;
    if (code == Code::kPermissionDenied || code == Code::kCancelled) return;  // the run, or this process, has ended
    const MutexLock lock(mutex_);
    if (is_over_) return;
    endpoint_.post_at(Clock::now() + std::chrono::duration_cast<Clock::duration>(kRetry),
                      [self = shared_from_this()] { self->go_on(); });
  }

  transport::Endpoint& endpoint_;
  TaskClient server_;
  const std::uint64_t epoch_;
  const JoinGroup join_;
  GetKey watch_;
  mutable Mutex mutex_;
  KeyState known_ TFD_GUARDED_BY(mutex_);
  bool is_over_ TFD_GUARDED_BY(mutex_) = false;
};

Membership::Membership(transport::Endpoint& endpoint, const TaskClient& server, std::string group, std::string member,
                       std::string watched, KeyState known)
    : loop_(std::make_shared<Loop>(endpoint, server, JoinGroup{std::move(group), std::move(member)},
                                   GetKey{std::move(watched), {}}, std::move(known))) {
  loop_->go_on();
}

Membership::~Membership() { loop_->end(); }

KeyState Membership::watched() const { return loop_->known(); }

}  // namespace tfd::task
