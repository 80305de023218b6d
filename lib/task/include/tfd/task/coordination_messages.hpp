#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// The coordination service: what the tasks of a cluster agree on besides variables. Every task serves it; clients use
// the first parameter server, or the chief if there is none. It has versioned keys, counters, and groups whose
// membership lasts as long as the member's connection. All of these live and end with a scope: a run (its epoch), or
// the process of the task that serves it. These are its requests and answers; coordination.hpp has the client. Thread
// rule: plain values.
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace tfd::task {

/// A key of the service itself, in the process's scope: the epoch of the task's run. Names that begin with a dot can't
/// be put.
inline constexpr const char* kEpochKey = ".epoch";

/// A key of the run's: where its training is, as one JSON object, by whoever makes its steps. The task's status has it.
inline constexpr const char* kStandingKey = "standing";

/// Lifetime: the task's run, or the task's process.
enum class CoordinationScope : std::uint8_t { kRun, kProcess };

// Requests. One with `after` is answered when there is a newer version, or when its wait times out.

/// Reads a key. Version 0: it was never put.
struct GetKey {
  std::string key;
  std::optional<std::uint64_t> after;
};
/// Writes a key; with `expected` only if that is its version: kFailedPrecondition states the actual one.
struct PutKey {
  std::string key;
  std::string value;
  std::optional<std::uint64_t> expected;
};
/// Adds to counters atomically; adding 0 reads. Counters begin with 0.
struct AddCounters {
  std::vector<std::pair<std::string, std::int64_t>> deltas;
};
/// Joins as a member, until it leaves or its connection ends. A name belongs to its newest connection.
struct JoinGroup {
  std::string group;
  std::string member;
};
struct LeaveGroup {
  std::string group;
  std::string member;
};
struct ReadGroup {
  std::string group;
  std::optional<std::uint64_t> after;
};

/// Leases up to `most` consecutive numbers of a queue, which counts from 0. A client makes an update for each, with it
/// as the sequence number, and takes more when all parameter servers have applied those. Numbers that it didn't use are
/// leased to others, as are its numbers when its connection ends (with several parameter servers all of them: an update
/// that is repeated is applied once by each).
struct TakeNumbers {
  std::string queue;
  std::uint64_t client = 0;         // which process it is
  std::string name;                 // for those that wait for its numbers
  std::optional<std::int64_t> end;  // end of the numbers: the least that any client has stated
  std::uint32_t most = 1;           // at most 4096; 0 returns its leases
  std::uint32_t sharers = 1;        // number of clients: toward the end, each gets fewer
  bool has_all = false;             // this task gets every part of each update
};

struct CoordinationRequest {
  std::variant<GetKey, PutKey, AddCounters, JoinGroup, LeaveGroup, ReadGroup, TakeNumbers> what;
  std::uint32_t wait_ms = 0;  // timeout of the wait; then the answer is the present state
};

// Answers.

/// The answer to PutKey has no value.
struct KeyState {
  std::string value;
  std::uint64_t version = 0;
};
/// Values after the additions, in their order.
struct CounterValues {
  std::vector<std::int64_t> values;
};
enum class MemberState : std::uint8_t {
  kHere,
  kLeft,  // said so
  kGone,  // its connection ended, as after a kill; it may come back
};
constexpr MemberState last_value(MemberState) { return MemberState::kGone; }
struct GroupMember {
  std::string name;
  MemberState state = MemberState::kHere;
};
/// State of a group: every member that ever joined, by name; with `after`, those that have changed since, in the order
/// of their changes. The answer to JoinGroup and LeaveGroup has none.
struct GroupState {
  std::uint64_t version = 0;
  std::vector<GroupMember> members;
};
struct NumbersState {
  std::int64_t first = 0;
  std::uint32_t count = 0;
  std::int64_t settled = 0;               // numbers below this are settled on all parameter servers
  bool is_over = false;                   // the queue is finished; else others hold leases that may be returned
  std::vector<std::string> held_by = {};  // lease holders, if no number is free: eight, then how many others
};
using CoordinationAnswer = std::variant<KeyState, CounterValues, GroupState, NumbersState>;

}  // namespace tfd::task
