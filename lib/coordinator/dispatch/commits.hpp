#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Closures whose updates one attempt has staged on parameter servers, until all of these have committed them
// (CoordinatorOptions::strict). An attempt that is here is the one that counts: its worker is no longer needed. A
// state machine: no lock, clock or socket; its owner sends the results of take() and answered(). Private to the room.
// Thread rule: thread-compatible; the coordinator's lock guards it.
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "dispatch/dispatcher.hpp"

namespace tfd::coordinator {

class Commits {
 public:
  /// A closure's commit by the parameter servers.
  struct Order {
    variable::Attempt attempt;
    std::vector<std::uint32_t> servers;
    /// Variables to read behind the commit, which has changed them. Read again by answered(), if commits are
    /// sequential.
    std::vector<std::string> returns;
  };
  struct Done {
    ClosurePtr closure;
    task::ClosureOutcome outcome;
    std::optional<Error> error;  // the first that a server answered
  };
  /// The next action once a closure has all the answers.
  struct Next {
    std::optional<Done> done = {};  // it has ended
    /// Due updates are to be made, then made_due() is to be called; false: only those that are complete.
    std::optional<bool> makes_all_due = {};
    std::optional<Order> reads = {};  // returns are to be read
  };

  /// Commits one closure after the other, and reads returns after due updates, where these span parameter servers;
  /// called before the first closure.
  void set_sequential() { is_sequential_ = true; }
  bool is_sequential() const { return is_sequential_; }

  /// A closure whose worker has answered that it is staged.
  struct Arrived {
    Dispatcher::Assignment from;
    task::ClosureOutcome outcome;
  };
  /// Records such an answer, and returns those that come next in the order of their worker: what a worker did first is
  /// committed first.
  std::vector<Arrived> arrived(const Dispatcher::Assignment& from, task::ClosureOutcome outcome);
  /// Forgets the answers of a worker that is lost, whose turn it isn't yet: others run these closures.
  void forget(std::size_t worker) { arrivals_.erase(worker); }
  /// Adds a closure that is staged; `returns` are the variables on parameter servers that it returns.
  void add(const ClosurePtr& closure, task::ClosureOutcome outcome, std::vector<std::string> returns);
  /// Takes the commits to send now, in the order of add(); nothing while it is paused.
  std::vector<Order> take();
  /// Records an answer, of a server to the commit or to the read. Nothing is to be done for a closure that is no longer
  /// known.
  Next answered(std::uint64_t sequence, const Result<void>& answer);
  /// Records that a server has due updates, before its answer; `is_busy`: it hasn't committed because of them.
  void found_due(std::uint64_t sequence, std::uint32_t server, bool is_busy);
  /// Records that due updates were made, or why not: what the servers are to commit that were busy, maybe none.
  struct AfterDue {
    Order again = {};
    Next next = {};
  };
  AfterDue made_due(std::uint64_t sequence, const Result<void>& made);
  /// A closure that waits for answers, and its future outcome; null: it is no longer known.
  Done* find(std::uint64_t sequence);

  /// Holds back what wasn't sent, until as many calls of resume().
  void pause() { ++pauses_; }
  void resume() { --pauses_; }
  bool is_paused() const { return pauses_ > 0; }
  /// True if some servers may have committed what others haven't.
  bool is_committing() const { return committing_ > 0; }

  /// Forgets all: they have ended otherwise.
  void clear();

 private:
  struct Staged {
    Done done;
    Order order;
    std::size_t left = 0;  // answers
    bool is_due = false;
    std::vector<std::uint32_t> busy = {};
    bool has_read = false;
  };
  using StagedOnes = std::map<std::uint64_t, Staged>;  // by sequence number
  Next next(StagedOnes::iterator at);

  /// Answers of one worker.
  struct Arrivals {
    std::uint64_t generation = 0;
    std::uint64_t next = 0;
    std::map<std::uint64_t, Arrived> early = {};  // by ClosureOutcome::staged_after
  };

  bool is_sequential_ = false;
  std::map<std::size_t, Arrivals> arrivals_;  // by worker
  StagedOnes staged_;
  std::deque<Order> unsent_;
  std::size_t committing_ = 0;  // that were taken
  int pauses_ = 0;
};

}  // namespace tfd::coordinator
