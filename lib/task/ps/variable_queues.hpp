#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// The variables of one program on its parameter server. A request is queued at each of its variables when it arrives,
// and runs there in FIFO order: requests are serializable in the order of arrival, while a large update delays only
// requests for the same variables. Thread rule: its functions are called on the endpoint's I/O thread; work on
// variables runs on an executor's threads.
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "pins.hpp"
#include "tfd/base/error.hpp"
#include "tfd/base/thread_annotations.hpp"
#include "tfd/transport/endpoint.hpp"
#include "tfd/variable/store.hpp"
#include "variable_executor.hpp"

namespace tfd::task {

/// Failed updates of a user-defined optimizer: a repeated request gets the same error.
class FailedUpdates {
 public:
  void add(std::uint64_t client, std::uint64_t sequence, const Error& error);
  std::optional<Error> find(std::uint64_t client, std::uint64_t sequence) const;

 private:
  static constexpr std::size_t kMost = 256;  // they end a training
  mutable Mutex mutex_;
  std::map<std::pair<std::uint64_t, std::uint64_t>, Error> errors_ TFD_GUARDED_BY(mutex_);
};

/// Requests of up to this many bytes run on the I/O thread: a handover would take as long.
inline constexpr std::size_t kSmallBytes = 128 * 1024;

class VariableQueues : public std::enable_shared_from_this<VariableQueues> {
 public:
  VariableQueues(variable::VariableStore store, VariableExecutor& executor);

  struct Request {
    std::vector<std::size_t> targets;  // indices of variables; may repeat
    bool is_small = false;             // fast enough for the I/O thread, if its queues are empty
    bool changes = false;              // makes new versions
    /// Asked about small updates once the queues are empty: false if it isn't fast enough, after all; null: true.
    std::function<bool()> is_fast = {};
    std::function<Result<void>(std::size_t part)> at = {};  // work at targets[part]; null: it only waits its turn
    /// Called when all parts are done, on the last part's thread; the error is the first failed part's.
    std::function<Result<transport::Message>(const Error* error)> done;
    transport::Responder responder;
    /// Replaces `done` for requests that are answered later.
    std::function<void(const Error* error, transport::Responder responder)> then = {};
  };
  void start(Request request);

  /// Pins the versions that a read of these variables needs; nullopt if it would keep too many alive. `claims`
  /// (variables for which others wait already) may be null.
  std::optional<std::vector<std::shared_ptr<Pin>>> pin(const std::vector<std::size_t>& targets,
                                                       const std::vector<bool>* claims, bool is_patient,
                                                       const std::shared_ptr<PinWatch>& watch);

  std::vector<std::size_t> all() const;
  variable::VariableStore& store() { return store_; }
  FailedUpdates& failed() { return failed_; }

 private:
  class Job;

  variable::VariableStore store_;
  VariableExecutor& executor_;
  std::vector<std::shared_ptr<VariableExecutor::Queue>> queues_;  // shared with the executor while they aren't empty
  std::vector<Versions> versions_;
  FailedUpdates failed_;
};

}  // namespace tfd::task
