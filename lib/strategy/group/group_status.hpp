#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// A group member's status, its own and the others' (for tfd-status, and tasks that wait for it): its activity,
// step, generation, its replicas, and late members. Private to the room. Thread rule: thread-safe.
#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tfd/base/deadline.hpp"
#include "tfd/base/thread_annotations.hpp"
#include "tfd/function/compiling.hpp"
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
  /// Adds a step: its duration, and how long each member waited in it for another one alone, by rank. The member that
  /// waited least was the last one, by the others' additional wait: where each waits for the next, nobody is late.
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

/// An activity of a member, for which others wait.
enum class Doing : std::uint8_t { kStep, kData, kEvaluation, kSaving, kWaiting };

class GroupStatus {
 public:
  /// `compiling`: what the compilers do; null: not known.
  explicit GroupStatus(std::shared_ptr<const function::Compiling> compiling = {}) : compiling_(std::move(compiling)) {}

  /// It does this from now on. Cheap, as it is called several times in each step.
  void begin(Doing what) { begin_at(what, Clock::now()); }
  /// It has waited so long for others, until the next begin().
  void wait_for(const std::string& whom, Duration waited);
  /// The source of its data: "cat a.csv".
  void set_data(std::string source);
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
  // The time is written first: a reader that sees the activity sees no older time.
  void begin_at(Doing what, Clock::time_point since) {
    since_ = since.time_since_epoch().count();
    doing_ = what;
  }
  void describe_doing(task::TaskStatus& status) const TFD_REQUIRES(mutex_);

  const std::shared_ptr<const function::Compiling> compiling_;  // shared with the engine
  std::atomic<Doing> doing_ = Doing::kStep;
  std::atomic<Clock::rep> since_ = Clock::now().time_since_epoch().count();
  mutable Mutex mutex_;
  std::string whom_ TFD_GUARDED_BY(mutex_);  // that it waits for
  std::string data_ TFD_GUARDED_BY(mutex_);
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
