#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// The updates that wait on a parameter server until the coordinator has picked an attempt of their closure, with
// --strict. One attempt of a sequence number at a time is kept: the latest. Staged bytes are bounded, except that
// each worker may always have one attempt here, so that no two servers wait for each other. A state machine: no lock,
// clock or socket. Thread rule: thread-compatible; lives on the endpoint's I/O thread.
#include <cstdint>
#include <map>
#include <optional>
#include <unordered_map>
#include <vector>

#include "messages/protocol.hpp"

namespace tfd::task {

class StagedUpdates {
 public:
  static constexpr std::uint64_t kMostBytes = std::uint64_t{256} << 20;
  explicit StagedUpdates(std::uint64_t most_bytes = kMostBytes) : most_bytes_(most_bytes) {}

  enum class Taken : std::uint8_t {
    kStaged,
    kLate,  // a later attempt is known, or it was aborted: dropped
    kFull,  // dropped, and counted as undecided: to be sent again when has_room()
  };
  /// Stages the updates of an attempt that comes from this worker (an incarnation). The sequence number isn't over.
  Taken stage(std::uint64_t worker, UpdateRequest request);
  /// True if nothing waits and nothing is remembered of attempts: the rule without --strict.
  bool empty() const { return entries_.empty(); }
  /// True if something of the worker's waits, or is to be sent again.
  bool is_undecided(std::uint64_t worker) const { return workers_.contains(worker); }
  /// True if the worker may send again what was kFull.
  bool has_room(std::uint64_t worker) const;

  /// The updates of an attempt, if it is staged; they may be moved out of it before committed().
  UpdateRequest* find(const variable::Attempt& attempt);
  void committed(const variable::Attempt& attempt);
  /// The attempt that was committed, of a number that isn't settled; nullopt: none, as far as is known.
  std::optional<std::uint32_t> find_committed(std::uint64_t sequence) const;
  /// Drops this attempt and earlier ones, now and when they come later.
  void abort(const variable::Attempt& attempt);
  /// Drops everything; committed attempts stay known.
  void abort_all();
  /// Drops everything about a sequence number that is over.
  void drop(std::uint64_t sequence);
  /// The same for all below; nobody will ask about these.
  void settle(std::uint64_t below);

  /// Adds the attempts that were committed, and those that are staged.
  void tell(variable::SequenceHistory& history) const;

 private:
  enum class State : std::uint8_t { kStaged, kAskedAgain, kAborted };
  struct Entry {
    State state = State::kAborted;
    std::uint32_t attempt = 0;  // earlier ones are late; this one, too, if it was aborted
    std::uint64_t worker = 0;
    std::uint64_t bytes = 0;
    UpdateRequest request = {};
  };
  struct Worker {
    std::size_t staged = 0, asked_again = 0;
  };
  using Entries = std::map<std::uint64_t, Entry>;  // by sequence number
  std::size_t& count_of(const Entry& entry);
  void put(Entry& entry);
  void withdraw(Entry& entry);
  Entries::iterator erase(Entries::iterator at);

  std::uint64_t most_bytes_;
  Entries entries_;
  std::unordered_map<std::uint64_t, Worker> workers_;  // those with something undecided
  std::map<std::uint64_t, std::uint32_t> committed_;   // attempts, by sequence number, until these are settled
  std::uint64_t bytes_ = 0;                            // of all that is staged
};

}  // namespace tfd::task
