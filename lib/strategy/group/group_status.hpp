#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// What a member of a group shows of itself and of the others (tfd-status): step, generation, its replicas, and who is
// late. Private to the room. Thread rule: thread-safe.
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "tfd/base/deadline.hpp"
#include "tfd/base/thread_annotations.hpp"
#include "tfd/step/replica_exchange.hpp"
#include "tfd/task/task_client.hpp"

namespace tfd::strategy {

/// Lateness of the members of a group in its steps, the same in all. No clock of its own. Thread rule: plain value.
class Lateness {
 public:
  static constexpr std::size_t kSteps = 100;                        // the last ones count
  static constexpr std::size_t kLastInSteps = 80;                   // of them
  static constexpr int kPartOfStep = 5;                             // late by more than a fifth of it
  static constexpr Duration kLeast = std::chrono::milliseconds(2);  // less is the scheduler's

  explicit Lateness(std::size_t members = 0) : members_(members) {}
  /// Adds a step: how long it took, and how long each member waited in it for another one alone, by rank. Who waited
  /// least was the last one, by what all others waited longer: where each waits for the next, nobody is late.
  void add(Duration step, const std::vector<Duration>& waits);
  /// Medians of the times by which each member was the last one, by rank.
  std::vector<Duration> medians() const;

  struct Straggler {
    std::size_t rank = 0;
    std::size_t steps = 0;  // in which it was the last one
    Duration late{};        // median
    Duration step{};        // median
  };
  /// The member that was last in most of a hundred steps, by much.
  std::optional<Straggler> straggler() const;

 private:
  struct Step {
    Duration took;
    std::vector<Duration> late;  // by rank: zero but for the last one
  };
  std::size_t members_;
  std::deque<Step> steps_;
};

class GroupStatus {
 public:
  /// A generation begins.
  void enter(std::uint64_t generation, const std::vector<std::string>& names, std::size_t rank,
             const step::ReplicaRange& replicas, std::int64_t step);
  /// A step was made, which began then. `waits`: how long each member waited in the one before, by rank. Returns a line
  /// about a straggler, once for each: the chief names others, and the second member the chief.
  std::optional<std::string> made(std::int64_t step, Clock::time_point began, const std::vector<Duration>& waits);
  /// Where the training is, one JSON object, by the chief.
  void show(std::string standing);
  void describe(task::TaskStatus& status) const;

 private:
  mutable Mutex mutex_;
  std::uint64_t generation_ TFD_GUARDED_BY(mutex_) = 0;
  std::vector<std::string> names_ TFD_GUARDED_BY(mutex_);
  std::size_t rank_ TFD_GUARDED_BY(mutex_) = 0;
  step::ReplicaRange replicas_ TFD_GUARDED_BY(mutex_);
  std::int64_t step_ TFD_GUARDED_BY(mutex_) = 0;
  std::string standing_ TFD_GUARDED_BY(mutex_);
  Clock::time_point shown_ TFD_GUARDED_BY(mutex_) = {};  // when standing_ was
  Lateness lateness_ TFD_GUARDED_BY(mutex_);
  std::size_t looked_at_ TFD_GUARDED_BY(mutex_) = 0;         // steps since the last look for a straggler
  std::optional<std::size_t> named_ TFD_GUARDED_BY(mutex_);  // the straggler that a line was about
};

}  // namespace tfd::strategy
