#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// The workers of one coordinator: what is known of each, and whose turn it is to get a closure. Who has room is kept in
// two lists, so that an answer costs the same with one worker and with a thousand. No lock, clock of its own or socket
// (a worker's client is only kept here). Private to the room.
// Thread rule: thread-compatible; the coordinator's lock guards it. It grows on the I/O thread; places of workers stay.
#include <deque>
#include <functional>
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
  kLoading,  // gets the program and its iterators
  kReady,
};

/// How many closures a worker should hold: about 20 ms of work, so that little has to be migrated and nobody starves.
class Window {
 public:
  explicit Window(std::size_t most) : most_(most), size_(std::min<std::size_t>(most, 8)) {}
  /// Of a worker that runs `least` at a time: none of them waits for nothing.
  Window(std::size_t most, std::size_t least)
      : most_(std::max(most, least)), least_(least), at_once_(least), size_(least) {}
  std::size_t size() const { return size_; }
  std::size_t at_once() const { return at_once_; }  // more than that wait at the worker
  void idle() { counted_ = 0; }                     // the time that follows says nothing about the worker
  void answered(Clock::time_point now);

 private:
  std::size_t most_;
  std::size_t least_ = 2;  // the next closure is there when one ends
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
  int replicas = 0;  // that it runs; 0: not known
  bool has_program = false;
  bool making_iterator = false;
  bool gives_back = false;  // asked for what it hasn't begun
  bool was_ready = false;
  DataProgress data;                           // begins when it is lost with the program
  Clock::time_point since{};                   // of the last answer, or of the state
  Clock::time_point server_trouble_since{};    // it can't reach a parameter server that is there
  Duration backoff = std::chrono::seconds(1);  // until it is tried again after a failure
  std::string reason = "not reached yet";      // why it is away
  std::optional<Error> load_error = {};        // of this incarnation, that won't pass by itself; until it is ready
  std::string occupied;                        // while it is loading: what of an earlier coordinator's it still does
  bool has_left = false;                       // a newer spec is without it; it may come back
  bool joined_later = false;                   // by a newer spec

  // What decides whether it gets closures: WorkerPool changes it.
  WorkerState state() const { return state_; }
  bool is_ready() const { return state_ == WorkerState::kReady; }
  bool is_paused() const { return paused_; }  // it couldn't reach a parameter server, which is being asked
  const std::unordered_set<ClosureId>& held() const { return held_; }
  const Window& window() const { return window_; }

  /// How long it isn't tried now; twice as long the next time.
  Duration take_backoff() {
    constexpr Duration kMost = std::chrono::seconds(30);
    return std::exchange(backoff, std::min<Duration>(backoff * 2, kMost));
  }

 private:
  friend class WorkerPool;
  WorkerState state_ = WorkerState::kAway;
  bool paused_ = false;
  bool runs_alone_ = false;  // what it holds, if anything, may not have company
  std::unordered_set<ClosureId> held_;
  Window window_{1};
};

/// Indices of workers, in their order.
class WorkerList {
 public:
  void set(std::size_t index, bool is_in);
  /// The first that is at least `from`, then those before it; nullopt where there is none.
  std::optional<std::size_t> next(std::size_t from) const;

 private:
  std::optional<std::size_t> find(std::size_t from) const;
  std::vector<std::uint64_t> words_;
};

class WorkerPool {
 public:
  // As a container.
  std::size_t size() const { return workers_.size(); }
  Worker& operator[](std::size_t index) { return workers_[index]; }
  const Worker& operator[](std::size_t index) const { return workers_[index]; }
  auto begin() { return workers_.begin(); }
  auto end() { return workers_.end(); }
  auto begin() const { return workers_.begin(); }
  auto end() const { return workers_.end(); }
  /// A new one, with the last index.
  Worker& add(std::string name, Window window);
  std::size_t count(WorkerState state) const;

  // What decides who gets closures.
  void become(std::size_t index, WorkerState state, Clock::time_point now);
  void set_paused(std::size_t index, bool paused);
  void set_window(std::size_t index, Window window);
  void give(std::size_t index, ClosureId closure, bool runs_alone, Clock::time_point now);
  /// False: it doesn't hold the closure (any more).
  bool take_back(std::size_t index, ClosureId closure);
  /// All that it held, in their order.
  std::vector<ClosureId> take_all(std::size_t index);
  /// It has answered what it held, and so is well.
  void answered(std::size_t index, Clock::time_point now);
  void end_all();  // nobody holds anything, and what still comes from them is too late

  enum class Share { kWhatRuns, kWindow };
  /// Whose turn it is, among those that hold less than their share; `alone`: among those that hold nothing. The turn
  /// passes on.
  std::optional<std::size_t> take_turn(Share share, bool alone);
  /// How many closures more the worker would run at once.
  std::size_t room_at(std::size_t index) const;

  // Whether the program can be run at all.
  bool any_was_ready() const { return any_was_ready_; }
  void became_ready(std::size_t index);
  /// Until the first one is ready these errors count; then none of them does.
  void cannot_use(std::size_t index, Error error, Clock::time_point now);
  void may_do_again(std::size_t index);  // another process runs there
  bool any_unusable() const { return !unusable_.empty(); }
  Clock::time_point unusable_since() const { return unusable_since_; }
  /// The first error, and of how many workers it is.
  Error describe_unusable() const;

 private:
  void list(std::size_t index);

  std::deque<Worker> workers_;
  WorkerList free_;                    // those that run less than they can at once
  WorkerList roomy_;                   // those that hold less than their window
  std::size_t next_ = 0;               // whose turn it is
  std::vector<std::size_t> unusable_;  // workers with a load_error, in the order of those, while none was ready yet
  Clock::time_point unusable_since_{};
  bool any_was_ready_ = false;
};

}  // namespace tfd::coordinator
