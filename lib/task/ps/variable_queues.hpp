#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// The variables of one program on its parameter server. A request takes its place at each of its variables when it
// comes, and is done there in its turn: so every request sees what those before it did and nothing of those after it,
// as if they were done one after another, while a large update holds up only who wants the same variables.
// Thread rule: its functions are called on the endpoint's I/O thread; what is done at variables runs on an executor's.
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "pins.hpp"
#include "tfd/base/error.hpp"
#include "tfd/transport/endpoint.hpp"
#include "tfd/variable/store.hpp"
#include "variable_executor.hpp"

namespace tfd::task {

/// The updates of one's own optimizer that failed: who sends one again hears the same.
class FailedUpdates {
 public:
  void add(std::uint64_t client, std::uint64_t sequence, const Error& error);
  std::optional<Error> find(std::uint64_t client, std::uint64_t sequence) const;

 private:
  static constexpr std::size_t kMost = 256;  // they end a training
  mutable std::mutex mutex_;
  std::map<std::pair<std::uint64_t, std::uint64_t>, Error> errors_;
};

/// Up to so many bytes are read, changed or copied on the I/O thread: handing them over would take as long.
inline constexpr std::size_t kSmallBytes = 32 * 1024;

class VariableQueues : public std::enable_shared_from_this<VariableQueues> {
 public:
  VariableQueues(variable::VariableStore store, VariableExecutor& executor);

  struct Request {
    std::vector<std::size_t> targets;  // variables; one may be named twice
    bool is_small = false;             // quick enough for the I/O thread, where nothing is before it
    bool changes = false;              // makes new versions
    std::function<Result<void>(std::size_t part)> at = {};  // at targets[part]; null: it only waits
    /// When all is done, on whichever thread was last; the error is that of the first part that failed.
    std::function<Result<transport::Message>(const Error* error)> done;
    transport::Responder responder;
    /// Instead of `done`: who answers later.
    std::function<void(const Error* error, transport::Responder responder)> then = {};
  };
  void start(Request request);

  /// The pins that a read of these variables needs; nullopt where it would keep one version too many alive. `claims`
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
  std::vector<std::shared_ptr<VariableExecutor::Queue>> queues_;  // with the executor while they have something
  std::vector<Versions> versions_;
  FailedUpdates failed_;
};

}  // namespace tfd::task
