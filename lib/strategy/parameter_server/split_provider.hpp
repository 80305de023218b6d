#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Dynamic sharding of asynchronous workers' data, which have one order for all workers: a step takes the data of its
// number, which the first parameter server leases, some at a time. Numbers of a killed worker are leased to others, and
// an update carries its step's number: a parameter server that has applied it drops it. So each element is trained on
// once, whichever workers are slow or die. Private to the room. Thread rule: one thread.
#include <cstdint>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "tfd/base/deadline.hpp"
#include "tfd/program/program.hpp"
#include "tfd/task/parameter_servers.hpp"

namespace tfd::strategy {

/// True if a training's data are dynamically sharded: unless they state another way of sharing, or "off".
bool is_sharded_dynamically(const program::Program& program);

class SplitProvider {
 public:
  struct Part {
    std::int64_t first = 0;                // first step of the training
    std::optional<std::int64_t> end = {};  // end of the training's steps, exclusive
    int workers = 1;
    std::string name;  // this one's
  };
  explicit SplitProvider(const Part& part) : part_(part) {}

  /// Returns this worker's next step. nullopt: none now, since others hold the last ones.
  Result<std::optional<std::int64_t>> next(task::ParameterServers& servers, Deadline deadline,
                                           const std::stop_token& stop);
  /// Sequence number of that step's update, so that it is applied once, whichever worker makes it.
  std::uint64_t sequence_of(std::int64_t step) const { return static_cast<std::uint64_t>(step - part_.first); }
  /// Marks the last step as done: all parameter servers have applied its update.
  void done() {
    ++next_;
    --left_;
  }
  /// Ends the steps here: there are no data for this one, which the next request tells the others.
  void end_at(std::int64_t step);
  /// Workers that hold the last steps, while there are none for this worker.
  const std::vector<std::string>& waits_for() const { return waits_for_; }
  /// Returns this worker's unused steps for others. If the message is lost, they are returned when its connection ends.
  void leave(task::ParameterServers& servers);
  /// True if all steps are done.
  bool is_over() const { return is_over_; }

 private:
  task::TakeNumbers request(task::ParameterServers& servers, std::uint32_t most) const;
  void settle(task::ParameterServers& servers, std::int64_t below);

  Part part_;
  std::int64_t next_ = 0;
  std::uint32_t left_ = 0;    // from next_ on
  std::int64_t settled_ = 0;  // settled sequence numbers, as sent to the parameter servers
  bool is_over_ = false;
  std::vector<std::string> waits_for_;
};

}  // namespace tfd::strategy
