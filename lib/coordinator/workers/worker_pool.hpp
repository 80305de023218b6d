#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// The workers of one coordinator: the life of each, and the choice of the next one to get a closure. A state machine:
// its owner sends the transitions' requests. A transition that handles an answer names the generation of the worker
// that was asked, and does nothing if it was lost meanwhile. Lists and counts of workers follow each transition, so
// that an event costs the same with one worker and with ten thousand. No lock, clock of its own or socket. Private to
// the room. Thread rule: thread-compatible; the coordinator's lock guards it. It grows on the I/O thread; references to
// workers stay valid.
#include <array>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "workers/worker.hpp"

namespace tfd::coordinator {

/// Indices of workers, in their order: a bit for each, so that a look at ten thousand is one at 157 words.
class WorkerList {
 public:
  void set(std::size_t index, bool is_in);
  bool contains(std::size_t index) const { return (word(index / 64) >> index % 64 & 1) != 0; }
  /// The first that is at least `from`, cyclically; nullopt if the list is empty.
  std::optional<std::size_t> next(std::size_t from) const;
  /// The first that is at least `from`, and isn't in `others`.
  std::optional<std::size_t> find_without(const WorkerList& others, std::size_t from) const;
  /// True if `others` contain all.
  bool is_within(const WorkerList& others) const { return !find_without(others, 0); }
  std::size_t size() const { return size_; }

 private:
  std::uint64_t word(std::size_t at) const { return at < words_.size() ? words_[at] : 0; }
  std::vector<std::uint64_t> words_;
  std::size_t size_ = 0;
};

class WorkerPool {
 public:
  /// Time for others to come, once one worker is ready or unusable.
  static constexpr Duration kForOthers = std::chrono::seconds(2);
  /// Time until a worker that lost its connection, or a parameter server, is tried again.
  static constexpr Duration kReconnectPause = std::chrono::milliseconds(100);

  // Container interface.
  std::size_t size() const { return workers_.size(); }
  const Worker& operator[](std::size_t index) const { return workers_[index]; }
  auto begin() const { return workers_.begin(); }
  auto end() const { return workers_.end(); }
  std::size_t count(WorkerState state) const { return counts_[static_cast<std::size_t>(state)]; }
  /// The worker of this name in the newest spec.
  std::optional<std::size_t> find_member(const std::string& name) const;
  /// Workers that are ready, and those of them that aren't paused.
  const WorkerList& ready() const { return ready_; }
  const WorkerList& able() const { return able_; }
  /// Ready workers, with their generations.
  std::vector<std::pair<std::size_t, std::uint64_t>> ready_ones() const;
  /// The sum of the windows of all that are ready.
  std::size_t windows() const { return windows_; }

  // Members of the cluster spec.
  /// Adds a worker of the first spec, with the last index.
  void add(std::string name, Window window, std::string address = {}, DataProgress data = {});
  /// Adds a worker of a newer spec; returns its index, which is the former one if it had left.
  std::size_t join(const std::string& name, Window window);
  void leave(std::size_t index) { workers_[index].has_left_ = true; }
  /// Records the address of a worker that joined or moved; connect() follows.
  void move_to(std::size_t index, const std::string& address, Clock::time_point now);
  void connect(std::size_t index, std::unique_ptr<task::WorkerClient> client);
  /// Shares steps of unknown workers equally among all, for their positions in their data.
  void share_steps(std::int64_t steps);

  // Coming up, and loading the program.
  /// True if another process runs at this address than the one whose loss isn't known yet: lose() it before up().
  bool was_replaced(std::size_t index, transport::Incarnation incarnation) const;
  /// Records that a worker is up. Returns its generation if it is to load the program: it was away, or waited for the
  /// parameter servers, and these are ready.
  std::optional<std::uint64_t> up(std::size_t index, transport::Incarnation incarnation, bool are_servers_ready,
                                  Clock::time_point now);
  bool is_loading_program(std::size_t index, std::uint64_t generation) const;
  /// Records what keeps a worker from loading; false if it is no longer loading.
  bool occupied(std::size_t index, std::uint64_t generation, std::string what);
  struct Mismatch {
    Error error;
    bool is_fatal;  // the cluster was wrong from the beginning; later, a worker that doesn't fit isn't used
  };
  /// Records a worker's number of replicas, which must be the others', and `copies`, that of variables with a copy per
  /// replica, unless that is 0. Source: ParameterServerStrategyV2, whose workers must all have the same number of GPUs.
  std::optional<Mismatch> replicas_known(std::size_t index, std::uint64_t generation, int replicas, int copies);
  /// The number of replicas of each worker; 1 while none is known.
  int replicas() const { return replicas_; }
  /// True if every worker that is loading has told its number of replicas.
  bool are_replicas_known() const { return unknown_.size() == 0; }
  /// Records that a worker has the program; false if it was lost meanwhile.
  bool program_loaded(std::size_t index, std::uint64_t generation);
  /// True if a worker may create its next iterator: it creates one at a time, from creates() to created().
  bool may_create(std::size_t index, std::uint64_t generation) const;
  void creates(std::size_t index) { workers_[index].is_creating_ = true; }
  /// Records that the request was answered; false if the worker was lost meanwhile.
  bool created(std::size_t index, std::uint64_t generation);
  struct Ready {
    bool is_back;  // it was ready before
  };
  /// Records that a worker has everything it needs; nullopt if it isn't loading, or no longer.
  std::optional<Ready> ready(std::size_t index, std::uint64_t generation, Window window, Clock::time_point now);

  // Failures.
  struct Retry {
    Duration pause;
    bool may_pass;  // it can't be reached, or is stopping: its successor may be usable
  };
  /// Records that a worker couldn't load the program, or create what lives with it.
  std::optional<Retry> load_failed(std::size_t index, std::uint64_t generation, Error error, Clock::time_point now);
  /// Records a worker that refuses this coordinator: it has another key, or another version.
  void refused(const std::string& name, const Error& error, Clock::time_point now);
  struct Lost {
    bool was_ready;
    Duration pause;  // until it is tried again, if it is still up: no event follows then
  };
  /// Records a loss; nullopt if it is away already. `generation`: none for an event that isn't an answer. `is_unfit`:
  /// it can be reached, but can't work. It still holds its closures: take_all().
  std::optional<Lost> lose(std::size_t index, std::optional<std::uint64_t> generation, const std::string& reason,
                           bool is_unfit, Clock::time_point now);
  /// Records that a worker couldn't reach a parameter server: it gets nothing until resume(). False if that is known.
  bool server_trouble(std::size_t index, std::uint64_t generation, Clock::time_point now);
  /// True if it has gone on for too long, while the server can be reached: the worker is the cause.
  bool is_its_own_trouble(std::size_t index, std::uint64_t generation, Clock::time_point now) const;
  bool resume(std::size_t index, std::uint64_t generation);
  /// Ignores all answers to earlier requests.
  void ignore_answers();
  void end_all();  // ignore_answers(), and no worker holds anything

  // Closures.
  enum class Share { kWhatRuns, kWindow };
  /// True if a worker would get a closure now, in either share.
  bool has_room() const { return free_.size() > 0 || roomy_.size() > 0; }
  /// Takes the next worker, round-robin, among those that hold less than their share, or half of a large window at
  /// most; `alone`: among those that hold nothing.
  std::optional<std::size_t> take_turn(Share share, bool alone);
  /// Number of closures, of `queued` ones, that a worker gets in its turn, at least one. Each that has room
  /// gets as many of a few; of many, one with short closures gets more at once, up to its window.
  std::size_t handful(std::size_t index, Share share, std::size_t queued) const;
  void give(std::size_t index, ClosureId closure, bool runs_alone, Clock::time_point now);
  /// Takes a closure from a worker; false if it doesn't hold it, or no longer.
  bool take_back(std::size_t index, ClosureId closure);
  /// Takes all its closures, in their order.
  std::vector<ClosureId> take_all(std::size_t index);
  /// Records the answer of a closure, which shows that the worker and its parameter servers are alive; `is_step`: it
  /// was a step, for the worker's position in its data. `ran`: how long it took there; nullopt: it isn't known.
  void answered(std::size_t index, bool is_step, std::optional<Duration> ran, Clock::time_point now);
  /// Records an answer that shows only that the worker is alive.
  void heard_from(std::size_t index, Clock::time_point now) { workers_[index].since_ = now; }
  /// Records the answer of a part of an evaluation.
  void evaluated(std::size_t index, Clock::time_point now);
  /// Number of further closures that the worker would run at once.
  std::size_t room_at(std::size_t index) const;
  /// Records that a worker was asked to return closures, and that it has answered.
  void asked_back(std::size_t index) { workers_[index].gives_back_ = true; }
  void gave_back(std::size_t index, std::uint64_t generation);

  // Whether the program can be run at all. Errors of unusable workers count until the first worker is ready.
  bool any_was_ready() const { return any_was_ready_; }
  bool any_unusable() const { return !unusable_.empty(); }
  /// True if no usable worker remains: each one that `is_up(worker)` has an error, and the others had a moment to
  /// connect.
  template <class IsUp>
  bool are_all_unusable(Clock::time_point now, const IsUp& is_up) const;
  /// The first error, with the number of workers that have it.
  Error describe_unusable() const;

 private:
  void list(std::size_t index);
  void become(std::size_t index, WorkerState state, Clock::time_point now);
  void set_replicas(std::size_t index, int replicas);
  std::optional<std::size_t> find_other_replicas(int replicas) const;
  std::optional<Error> check_replicas(const Worker& worker, int copies) const;
  void cannot_use(std::size_t index, Error error, Clock::time_point now);

  std::deque<Worker> workers_;
  std::unordered_map<std::string, std::size_t> by_name_;
  std::array<std::size_t, kWorkerStates> counts_{};  // become() and add() keep it
  std::map<int, WorkerList> by_replicas_;            // those that have told their number; set_replicas() keeps it
  // Derived from each worker's state; list() keeps it.
  WorkerList ready_;
  WorkerList able_;                    // those that are ready, and not paused
  WorkerList unknown_;                 // those that are loading, and haven't told their number of replicas
  WorkerList free_;                    // those that run less than they can at once
  WorkerList roomy_;                   // those that hold less than their window, or half of a large one at most
  std::size_t windows_ = 0;            // of those that are ready: the sum
  std::size_t next_ = 0;               // the worker whose turn it is
  std::vector<std::size_t> unusable_;  // workers with a load_error, in the order of the errors, until one is ready
  Clock::time_point unusable_since_{};
  bool any_was_ready_ = false;
  int replicas_ = 1;
};

template <class IsUp>
bool WorkerPool::are_all_unusable(Clock::time_point now, const IsUp& is_up) const {
  if (unusable_.empty()) return false;
  const bool is_early = now - unusable_since_ < kForOthers;
  return std::ranges::all_of(workers_, [&](const Worker& worker) {
    if (worker.load_error() || worker.has_left()) return true;
    const bool is_at_work = worker.state() == WorkerState::kLoading || worker.state() == WorkerState::kWaiting;
    return !is_at_work && !is_early && !is_up(worker);
  });
}

/// Workers that a newer cluster spec changes, in their order, and those that join, by name.
struct MembershipDifference {
  std::vector<std::size_t> moved;
  std::vector<std::size_t> left;
  std::vector<std::string> joined;
};
/// Compares the workers with the addresses of a newer spec. A worker that had left joins again.
MembershipDifference compare_members(const WorkerPool& workers, const std::map<std::string, std::string>& addresses);

}  // namespace tfd::coordinator
