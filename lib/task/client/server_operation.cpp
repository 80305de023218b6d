// SPDX-License-Identifier: Apache-2.0
#include "server_operation.hpp"

#include <algorithm>

namespace tfd::task {

void ParameterServers::Operation::start(std::vector<ServerClient>& tasks) {
  std::vector<Part*> asked;
  {
    const MutexLock lock(mutex_);
    for (Part& part : parts_)
      if (part.state == PartState::kToAsk) asked.push_back(&part);
    for (Part* part : asked) part->state = PartState::kAsked;
  }
  for (Part* part : asked)
    part->question(tasks[part->server],
                   [self = shared_from_this(), part](std::optional<Error> error) { self->answered(*part, error); });
}

Result<void> ParameterServers::Operation::wait(const std::stop_token& stop, bool for_all, transport::Endpoint* driven) {
  const auto is_answered = [&] {
    const MutexLock lock(mutex_);
    return is_over(for_all);
  };
  if (driven != nullptr && !is_answered()) driven->drive(is_answered, stop, kDrivenAtMost);
  MutexLock lock(mutex_);
  done_.wait(lock, stop, [&]() TFD_REQUIRES(mutex_) { return is_over(for_all); });
  if (!for_all && first_failure_) return fail(*first_failure_);
  return is_over(for_all) ? Result<void>() : fail(Code::kCancelled, "this task is stopping");
}

std::vector<ParameterServers::Operation::Failure> ParameterServers::Operation::take_failures() {
  const MutexLock lock(mutex_);
  std::vector<Failure> out;
  for (Part& part : parts_) {
    if (!part.error) continue;
    out.push_back({part.server, std::move(*part.error)});
    part.error.reset();
    part.state = PartState::kToAsk;
  }
  return out;
}

std::vector<std::string> ParameterServers::Operation::missing() const {
  const MutexLock lock(mutex_);
  std::vector<std::string> names;
  for (const Part& part : parts_)
    if (part.state == PartState::kAsked) names.push_back(part.name);
  return names;
}

void ParameterServers::Operation::answered(Part& part, std::optional<Error>& error) {
  std::function<void()> finished;
  {
    const MutexLock lock(mutex_);
    part.state = PartState::kAnswered;
    if (error && error->task.empty()) error->task = part.name;
    if (error && !first_failure_) first_failure_ = error;
    part.error = std::move(error);
    finished = take_finished();
    done_.notify_all();
  }
  if (finished) finished();
}

void ParameterServers::Operation::then(std::function<void(Result<void>)> finished) {
  std::function<void()> now;
  {
    const MutexLock lock(mutex_);
    finished_ = std::move(finished);
    now = take_finished();
  }
  if (now) now();
}

std::function<void()> ParameterServers::Operation::take_finished() {
  if (!finished_ || has(PartState::kAsked)) return {};
  Result<void> result = first_failure_ ? Result<void>(fail(*first_failure_)) : Result<void>();
  return [finished = std::exchange(finished_, {}), result = std::move(result)] { finished(result); };
}

void ParameterServers::Rejoin::look(const transport::PeerEvent& event) {
  const MutexLock lock(mutex_);
  if (event.state == transport::PeerState::kUp) gone_.erase(event.name);
  if (event.state == transport::PeerState::kLost && event.is_gone) gone_.insert(event.name);
}

Result<void> ParameterServers::Rejoin::wait(ParameterServers& servers, const Error& why, int attempt) const {
  if (attempt >= kAttempts) return fail(why);
  const auto up = wait_for_all(servers);
  for (std::size_t i = 0; i < servers.size(); ++i) {
    const ServerClient& task = servers.task(i);
    const bool is_same = servers.endpoint_.incarnation_of(task.peer()) == servers.incarnations_[i];
    if (servers.is_up(i) && is_same) continue;
    return fail(Error{Code::kUnavailable,
                      fmt::format("parameter server {} is gone: {}", task.name(),
                                  servers.is_up(i) ? "another process answers at its address" : why.message),
                      task.name()});
  }
  return up;
}

Result<void> ParameterServers::Rejoin::wait_for_all(const ParameterServers& servers) const {
  constexpr auto kLook = std::chrono::milliseconds(50);
  const Deadline deadline = Deadline::after(patience_);
  for (;;) {
    auto up = servers.endpoint_.wait_up(servers.peers(), Deadline::after(kLook).earlier_of(deadline));
    if (up || deadline.expired() || up.error().code != Code::kDeadlineExceeded) return up;
    const MutexLock lock(mutex_);
    if (!gone_.empty()) return up;
  }
}

}  // namespace tfd::task
