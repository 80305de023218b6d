#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// What several parameter servers are asked at once, and how long those that were cut off are waited for. Private to the
// room. Thread rule: thread-safe; answers come on the I/O thread.
#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <set>

#include "activity.hpp"
#include "tfd/task/parameter_servers.hpp"

namespace tfd::task {

/// Positions of those that have something to do.
template <class Parts>
std::vector<std::size_t> with_parts(const Parts& parts) {
  std::vector<std::size_t> out;
  for (std::size_t i = 0; i < parts.size(); ++i)
    if (!parts[i].empty()) out.push_back(i);
  return out;
}

/// What is asked of some parameter servers, until all have answered: who failed can be asked again.
class ParameterServers::Operation : public Waits, public std::enable_shared_from_this<Operation> {
 public:
  using Done = std::function<void(std::optional<Error>)>;  // keeps the operation
  using Question = std::function<void(ServerClient& task, Done done)>;
  struct Failure {
    std::size_t server;
    Error error;
  };

  void add(std::size_t server, const std::string& name, Question question) {
    parts_.push_back({server, name, std::move(question)});
  }

  /// Asks whoever hasn't answered, and nobody is waiting for.
  void start(std::vector<ServerClient>& tasks) {
    std::vector<Part*> asked;
    {
      const std::scoped_lock lock(mutex_);
      for (Part& part : parts_)
        if (part.state == PartState::kToAsk) asked.push_back(&part);
      for (Part* part : asked) part->state = PartState::kAsked;
    }
    for (Part* part : asked)
      part->question(tasks[part->server],
                     [self = shared_from_this(), part](std::optional<Error> error) { self->answered(*part, error); });
  }

  /// For all answers, or for the first failure. Each request ends by its own deadline.
  Result<void> wait(const std::stop_token& stop, bool for_all) {
    std::unique_lock lock(mutex_);
    const auto is_over = [&] { return !has(PartState::kAsked) || (!for_all && first_failure_.has_value()); };
    done_.wait(lock, stop, is_over);
    if (!for_all && first_failure_) return fail(*first_failure_);
    return is_over() ? Result<void>() : fail(Code::kCancelled, "this task is stopping");
  }

  /// What failed, to be asked again by start().
  std::vector<Failure> take_failures() {
    const std::scoped_lock lock(mutex_);
    std::vector<Failure> out;
    for (Part& part : parts_) {
      if (!part.error) continue;
      out.push_back({part.server, std::move(*part.error)});
      part.error.reset();
      part.state = PartState::kToAsk;
    }
    return out;
  }

  std::vector<std::string> missing() const override {
    const std::scoped_lock lock(mutex_);
    std::vector<std::string> names;
    for (const Part& part : parts_)
      if (part.state == PartState::kAsked) names.push_back(part.name);
    return names;
  }

 private:
  enum class PartState : std::uint8_t { kToAsk, kAsked, kAnswered };
  struct Part {
    std::size_t server;
    std::string name;
    Question question;
    PartState state = PartState::kToAsk;
    std::optional<Error> error = {};
  };

  bool has(PartState state) const { return std::ranges::find(parts_, state, &Part::state) != parts_.end(); }

  void answered(Part& part, std::optional<Error>& error) {
    const std::scoped_lock lock(mutex_);
    part.state = PartState::kAnswered;
    if (error && error->task.empty()) error->task = part.name;
    if (error && !first_failure_) first_failure_ = error;
    part.error = std::move(error);
    done_.notify_all();
  }

  mutable std::mutex mutex_;
  std::condition_variable_any done_;
  std::vector<Part> parts_;  // complete before the first start()
  std::optional<Error> first_failure_;
};

/// Waits for parameter servers that were cut off, as long as nothing says that their processes have ended.
class ParameterServers::Rejoin {
 public:
  explicit Rejoin(Duration patience) : patience_(patience) {}

  // On the I/O thread.
  void look(const transport::PeerEvent& event) {
    const std::scoped_lock lock(mutex_);
    if (event.state == transport::PeerState::kUp) gone_.erase(event.name);
    if (event.state == transport::PeerState::kLost && event.is_gone) gone_.insert(event.name);
  }

  Result<void> wait(ParameterServers& servers, const Error& why, int attempt) const {
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

 private:
  static constexpr int kAttempts = 5;

  Result<void> wait_for_all(const ParameterServers& servers) const {
    constexpr auto kLook = std::chrono::milliseconds(50);
    const Deadline deadline = Deadline::after(patience_);
    for (;;) {
      auto up = servers.endpoint_.wait_up(servers.peers(), Deadline::after(kLook).earlier_of(deadline));
      if (up || deadline.expired() || up.error().code != Code::kDeadlineExceeded) return up;
      const std::scoped_lock lock(mutex_);
      if (!gone_.empty()) return up;
    }
  }

  const Duration patience_;
  mutable std::mutex mutex_;
  std::set<std::string> gone_;  // those whose process has ended: filled on the I/O thread
};

}  // namespace tfd::task
