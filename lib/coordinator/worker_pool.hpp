#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// The workers of one coordinator: the state of each, and the choice of the next one to get a closure. Workers with room
// are kept in two lists, so that an answer costs the same with one worker and with a thousand. No lock, clock of its
// own or socket (a worker's client is only kept here). Private to the room. Thread rule: thread-compatible; the
// coordinator's lock guards it. It grows on the I/O thread; references to workers stay valid.
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

#include "tfd/base/deadline.hpp"
#include "tfd/coordinator/closure_queue.hpp"
#include "tfd/coordinator/cluster_coordinator.hpp"
#include "tfd/task/worker_client.hpp"

namespace tfd::coordinator {

enum class WorkerState {
  kAway,     // connecting, lost, or unable to load the program
  kWaiting,  // up, while the parameter servers aren't ready yet
  kLoading,  // loading the program and creating iterators
  kReady,
};

/// Number of closures that a worker should hold: about 20 ms of work, so that little has to be migrated and no worker
/// idles.
class Window {
 public:
  explicit Window(std::size_t most) : most_(most), size_(std::min<std::size_t>(most, 8)) {}
  /// Makes a window for a worker that runs `least` at a time, below which it would idle.
  Window(std::size_t most, std::size_t least)
      : most_(std::max(most, least)), least_(least), at_once_(least), size_(least) {}
  std::size_t size() const { return size_; }
  std::size_t at_once() const { return at_once_; }  // the rest wait at the worker
  void idle() { counted_ = 0; }                     // idle time doesn't measure the worker's speed
  void answered(Clock::time_point now);

 private:
  std::size_t most_;
  std::size_t least_ = 2;  // so that the next closure is there when one ends
  std::size_t at_once_ = 1;
  std::size_t size_;
  std::uint64_t counted_ = 0;
  Clock::time_point start_{};
};

class Worker {
 public:
  std::string name;
  std::string address;
  std::unique_ptr<task::WorkerClient> client;
  std::uint64_t generation = 0;  // grows with every loss: answers to what was asked before are ignored
  transport::Incarnation incarnation = 0;
  int replicas = 0;  // its number of replicas; 0: not known
  bool has_program = false;
  bool making_iterator = false;
  bool gives_back = false;  // asked to return closures that haven't started
  bool was_ready = false;
  DataProgress data;                           // reset when it is lost with the program
  Clock::time_point since{};                   // time of the last answer, or change of state
  Clock::time_point server_trouble_since{};    // since when it can't reach a parameter server that is up
  Duration backoff = std::chrono::seconds(1);  // until a retry after a failure
  std::string reason = "not reached yet";      // why it is away
  std::optional<Error> load_error = {};        // permanent error of this incarnation; until it is ready
  std::string occupied;                        // while loading: its remaining work for an earlier coordinator
  bool has_left = false;                       // not in the newest spec; it may return
  bool joined_later = false;                   // by a newer spec

  // State that decides whether it gets closures, changed by WorkerPool:
  WorkerState state() const { return state_; }
  bool is_ready() const { return state_ == WorkerState::kReady; }
  bool is_paused() const { return paused_; }  // it couldn't reach a parameter server, which is being checked
  const std::unordered_set<ClosureId>& held() const { return held_; }
  const Window& window() const { return window_; }

  /// Returns the pause before a retry, doubling each time.
  Duration take_backoff() {
    constexpr Duration kMost = std::chrono::seconds(30);
    return std::exchange(backoff, std::min<Duration>(backoff * 2, kMost));
  }

 private:
  friend class WorkerPool;
  WorkerState state_ = WorkerState::kAway;
  bool paused_ = false;
  bool runs_alone_ = false;  // its closure, if any, must run alone
  std::unordered_set<ClosureId> held_;
  Window window_{1};
};

/// Indices of workers, in their order.
class WorkerList {
 public:
  void set(std::size_t index, bool is_in);
  /// The first that is at least `from`, cyclically; nullopt if the list is empty.
  std::optional<std::size_t> next(std::size_t from) const;

 private:
  std::optional<std::size_t> find(std::size_t from) const;
  std::vector<std::uint64_t> words_;
};

class WorkerPool {
 public:
  // Container interface.
  std::size_t size() const { return workers_.size(); }
  Worker& operator[](std::size_t index) { return workers_[index]; }
  const Worker& operator[](std::size_t index) const { return workers_[index]; }
  auto begin() { return workers_.begin(); }
  auto end() { return workers_.end(); }
  auto begin() const { return workers_.begin(); }
  auto end() const { return workers_.end(); }
  /// Adds a worker, with the last index.
  Worker& add(std::string name, Window window);
  std::size_t count(WorkerState state) const;

  // Changes that affect which workers get closures.
  void become(std::size_t index, WorkerState state, Clock::time_point now);
  void set_paused(std::size_t index, bool paused);
  void set_window(std::size_t index, Window window);
  void give(std::size_t index, ClosureId closure, bool runs_alone, Clock::time_point now);
  /// Takes a closure from a worker; false if it doesn't hold it (any more).
  bool take_back(std::size_t index, ClosureId closure);
  /// Takes all its closures, in their order.
  std::vector<ClosureId> take_all(std::size_t index);
  /// Records an answer, which shows that the worker is alive.
  void answered(std::size_t index, Clock::time_point now);
  void end_all();  // no worker holds anything, and late answers are ignored

  enum class Share { kWhatRuns, kWindow };
  /// Takes the next worker, round-robin, among those that hold less than their share; `alone`: among those that hold
  /// nothing.
  std::optional<std::size_t> take_turn(Share share, bool alone);
  /// Number of further closures that the worker would run at once.
  std::size_t room_at(std::size_t index) const;

  // Whether the program can be run at all.
  bool any_was_ready() const { return any_was_ready_; }
  void became_ready(std::size_t index);
  /// Records an unusable worker; such errors count until the first worker is ready.
  void cannot_use(std::size_t index, Error error, Clock::time_point now);
  void may_do_again(std::size_t index);  // another process runs there now
  bool any_unusable() const { return !unusable_.empty(); }
  Clock::time_point unusable_since() const { return unusable_since_; }
  /// The first error, with the number of workers that have it.
  Error describe_unusable() const;

 private:
  void list(std::size_t index);

  std::deque<Worker> workers_;
  WorkerList free_;                    // those that run less than they can at once
  WorkerList roomy_;                   // those that hold less than their window
  std::size_t next_ = 0;               // whose turn it is
  std::vector<std::size_t> unusable_;  // workers with a load_error, in the order of the errors, until one is ready
  Clock::time_point unusable_since_{};
  bool any_was_ready_ = false;
};

/// Workers that a newer cluster spec changes, in their order, and those that join, by name.
struct MembershipDifference {
  std::vector<std::size_t> moved;
  std::vector<std::size_t> left;
  std::vector<std::string> joined;
};
/// Compares the workers with the addresses of a newer spec. A worker that had left joins again.
MembershipDifference compare_members(const WorkerPool& workers, const std::map<std::string, std::string>& addresses);

}  // namespace tfd::coordinator
