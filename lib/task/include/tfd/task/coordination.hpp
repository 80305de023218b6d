#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// The client of the coordination service (coordination_messages.hpp). Thread rule: CoordinationClient blocks its
// caller; Membership is thread-safe.
//
//   const CoordinationClient run = servers.coordination();
//   const auto begun = TFD_TRY(run.wait_for_key("begun", 0, Deadline::after(30s)));
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "tfd/base/deadline.hpp"
#include "tfd/base/error.hpp"
#include "tfd/task/coordination_messages.hpp"

namespace tfd::transport {
class Endpoint;
}

namespace tfd::task {

class TaskClient;

/// Blocks. In waits the deadline is the wait's; the service's answer may come a moment later. kUnavailable,
/// kDeadlineExceeded: the service can't be reached, or doesn't answer; kPermissionDenied: its task has another run by
/// now.
class CoordinationClient {
 public:
  using Ask = std::function<Result<CoordinationAnswer>(const CoordinationRequest& request, Deadline deadline,
                                                       const std::stop_token& stop)>;
  explicit CoordinationClient(Ask ask) : ask_(std::move(ask)) {}

  Result<KeyState> get(const std::string& key, Deadline deadline) const;
  /// Waits until the key is newer than `after`; returns its state at the deadline. kCancelled: `stop` was requested.
  Result<KeyState> wait_for_key(const std::string& key, std::uint64_t after, Deadline deadline,
                                const std::stop_token& stop = {}) const;
  /// Writes a key and returns its new version. kFailedPrecondition: its version isn't `expected`.
  Result<std::uint64_t> put(const std::string& key, const std::string& value, Deadline deadline,
                            std::optional<std::uint64_t> expected = {}) const;
  /// Adds to counters. kAborted, kUnavailable: the additions may or may not have been made.
  Result<std::vector<std::int64_t>> add(std::vector<std::pair<std::string, std::int64_t>> deltas,
                                        Deadline deadline) const;
  Result<std::vector<std::int64_t>> read_counters(const std::vector<std::string>& names, Deadline deadline) const;
  Result<void> join(const std::string& group, const std::string& member, Deadline deadline) const;
  Result<void> leave(const std::string& group, const std::string& member, Deadline deadline) const;
  Result<GroupState> members(const std::string& group, Deadline deadline) const;
  /// Waits for a change in a group, as wait_for_key(); returns the members that have changed since `after`.
  Result<GroupState> wait_for_members(const std::string& group, std::uint64_t after, Deadline deadline,
                                      const std::stop_token& stop = {}) const;
  /// Waits until there are numbers, or the queue is finished; returns its state at the deadline.
  Result<NumbersState> take_numbers(const TakeNumbers& take, Deadline deadline, const std::stop_token& stop = {}) const;

 private:
  template <class T>
  Result<T> ask(CoordinationRequest request, Deadline deadline, const std::stop_token& stop = {}) const;
  template <class T>
  Result<T> wait(CoordinationRequest request, Deadline deadline, const std::stop_token& stop,
                 const std::function<bool(const T&)>& is_there) const;

  Ask ask_;
};

/// Membership in a group of the run, renewed on reconnection, until this object or the run ends; it doesn't leave. It
/// also watches one key.
class Membership {
 public:
  Membership(transport::Endpoint& endpoint, const TaskClient& server, std::string group, std::string member,
             std::string watched, KeyState known);
  ~Membership();
  Membership(const Membership&) = delete;
  Membership& operator=(const Membership&) = delete;
  /// Latest known state of the watched key.
  KeyState watched() const;

 private:
  class Loop;
  std::shared_ptr<Loop> loop_;  // shared with requests in flight
};

}  // namespace tfd::task
