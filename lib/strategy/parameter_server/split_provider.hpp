#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Which data a step of an asynchronous worker takes, where the workers have one order of them: those of the step's
// number, which the first parameter server hands out, some at a time. The numbers of a worker that is killed are given
// to others, and an update has the number that it was made of: a parameter server that has had it drops it. So each
// element is trained on once, whoever is slow or dies.
// Private to the room. Thread rule: one thread.
#include <cstdint>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "tfd/base/deadline.hpp"
#include "tfd/program/program.hpp"
#include "tfd/task/parameter_servers.hpp"

namespace tfd::strategy {

/// Of a training's data. Not where they say how workers share them, or "off".
bool is_sharded_dynamically(const program::Program& program);

class SplitProvider {
 public:
  struct Part {
    std::int64_t first = 0;                // of the training's steps
    std::optional<std::int64_t> end = {};  // behind the last of them
    int workers = 1;
    std::string name;  // this one's
  };
  explicit SplitProvider(const Part& part) : part_(part) {}

  /// What this worker does next. None: there are none now, for others do the last of them.
  Result<std::optional<std::int64_t>> next(task::ParameterServers& servers, Deadline deadline,
                                           const std::stop_token& stop);
  /// Of that step's update, so that it is applied once, whoever makes it.
  std::uint64_t sequence_of(std::int64_t step) const { return static_cast<std::uint64_t>(step - part_.first); }
  /// All parameter servers have had the update of the step that came last.
  void done() {
    ++next_;
    --left_;
  }
  /// There are no data for this step: the others are told.
  void end_at(std::int64_t step);
  /// Who has the last steps, while there are none for this worker.
  const std::vector<std::string>& waits_for() const { return waits_for_; }
  /// This worker makes no more steps: what it hasn't made is others'. What can't be told is seen when it is gone.
  void leave(task::ParameterServers& servers);
  /// All steps have been made.
  bool is_over() const { return is_over_; }

 private:
  task::TakeNumbers request(task::ParameterServers& servers, std::uint32_t most) const;
  void settle(task::ParameterServers& servers, std::int64_t below);

  Part part_;
  std::int64_t next_ = 0;
  std::uint32_t left_ = 0;    // from next_ on
  std::int64_t settled_ = 0;  // sequence numbers, as the parameter servers know
  bool is_over_ = false;
  std::vector<std::string> waits_for_;
};

}  // namespace tfd::strategy
