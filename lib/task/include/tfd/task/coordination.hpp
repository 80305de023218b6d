#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// The coordination service: what the tasks of a cluster agree on beside variables. Every task serves it; the one that
// is asked is the first parameter server, or the chief where there is none. It has keys with versions, counters,
// groups whose members are there as long as their connections, and barriers. All of that lives in a scope, and ends
// with it: of a run (its epoch), or of the process of the task that serves it. Thread rule: CoordinationClient blocks
// its caller; Membership is thread-safe; the others are plain values.
//
//   const CoordinationClient run = servers.coordination();
//   TFD_TRY(run.pass_barrier("start", "worker:1", {"worker:0", "worker:1"}, Deadline::after(30s)));
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "tfd/base/deadline.hpp"
#include "tfd/base/error.hpp"

namespace tfd::transport {
class Endpoint;
}

namespace tfd::task {

class TaskClient;

/// A key that the service itself keeps, in the scope of the process: the epoch of the run that the task has. Names that
/// begin with a dot can't be put.
inline constexpr const char* kEpochKey = ".epoch";

/// Where something lives: in the run that the task has, or in the task's process.
enum class CoordinationScope : std::uint8_t { kRun, kProcess };

// Requests. One with `after` is answered when there is something newer than that version, or when its wait is over.

/// Version 0: nobody has put it.
struct GetKey {
  std::string key;
  std::optional<std::uint64_t> after;
};
/// With `expected` only if that is its version: kFailedPrecondition says which it has.
struct PutKey {
  std::string key;
  std::string value;
  std::optional<std::uint64_t> expected;
};
/// All at once; 0 reads. Counters begin with 0.
struct AddCounters {
  std::vector<std::pair<std::string, std::int64_t>> deltas;
};
/// As a member, until it leaves or its connection ends. The newest connection of a name has it.
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
enum class BarrierAct : std::uint8_t { kLook, kArrive, kWithdraw };
/// A barrier is passed again and again: by all its participants after round 0, 1, …
struct UseBarrier {
  std::string barrier;
  BarrierAct act = BarrierAct::kLook;
  std::string participant;                // this one; of a look nobody
  std::vector<std::string> participants;  // all of them, the same from each
  std::uint64_t after = 0;                // rounds that are over for this one
};

/// Up to `most` numbers of a queue, which counts from 0, one after the other. A client makes an update of each, under
/// it as the sequence number, and takes others when all parameter servers have had those. What it hasn't done by then
/// is given to others. So is what it has when its connection ends, and all of that where there are several parameter
/// servers: whoever makes the same update again, each of them applies it once.
struct TakeNumbers {
  std::string queue;
  std::uint64_t client = 0;         // which process it is
  std::string name;                 // for those that wait for it
  std::optional<std::int64_t> end;  // from here on there are none; the least that anybody has said
  std::uint32_t most = 1;           // to 4096; 0 gives back what it has
  std::uint32_t sharers = 1;        // how many take of them: towards the end, each takes less
  bool has_all = false;             // this task gets all of each update
};

struct CoordinationRequest {
  std::variant<GetKey, PutKey, AddCounters, JoinGroup, LeaveGroup, ReadGroup, UseBarrier, TakeNumbers> what;
  std::uint32_t wait_ms = 0;  // for what isn't there yet; after it the answer says how things stand
};

// Answers.

/// The answer to PutKey has no value.
struct KeyState {
  std::string value;
  std::uint64_t version = 0;
};
/// After the additions, in their order.
struct CounterValues {
  std::vector<std::int64_t> values;
};
enum class MemberState : std::uint8_t {
  kHere,
  kLeft,  // said so
  kGone,  // its connection ended, as that of a process that was killed; it may come back
};
struct GroupMember {
  std::string name;
  MemberState state = MemberState::kHere;
};
/// Of the members that ever joined, by name. The answer to JoinGroup and LeaveGroup has none.
struct GroupState {
  std::uint64_t version = 0;
  std::vector<GroupMember> members;
};
struct BarrierState {
  std::uint64_t rounds = 0;          // that have been passed
  std::vector<std::string> missing;  // participants that haven't arrived for the next one
};
struct NumbersState {
  std::int64_t first = 0;
  std::uint32_t count = 0;
  std::int64_t settled = 0;               // all below are over, on all parameter servers
  bool is_over = false;                   // there are none any more; else others have some that may come back
  std::vector<std::string> held_by = {};  // where there are none: who has them
};
using CoordinationAnswer = std::variant<KeyState, CounterValues, GroupState, BarrierState, NumbersState>;

/// Blocks. Where something is waited for, the deadline is the wait's: the service may take a moment to answer then.
/// kUnavailable, kDeadlineExceeded: it can't be reached, or doesn't answer; kPermissionDenied: it has another run by
/// now.
class CoordinationClient {
 public:
  using Ask = std::function<Result<CoordinationAnswer>(const CoordinationRequest& request, Deadline deadline,
                                                       const std::stop_token& stop)>;
  explicit CoordinationClient(Ask ask) : ask_(std::move(ask)) {}

  Result<KeyState> get(const std::string& key, Deadline deadline) const;
  /// Until it is newer, or as it stands at the deadline. kCancelled: `stop` was asked for.
  Result<KeyState> wait_for_key(const std::string& key, std::uint64_t after, Deadline deadline,
                                const std::stop_token& stop = {}) const;
  /// The new version. kFailedPrecondition: it has another version than `expected`.
  Result<std::uint64_t> put(const std::string& key, const std::string& value, Deadline deadline,
                            std::optional<std::uint64_t> expected = {}) const;
  /// kAborted, kUnavailable: the additions may have been made or not.
  Result<std::vector<std::int64_t>> add(std::vector<std::pair<std::string, std::int64_t>> deltas,
                                        Deadline deadline) const;
  Result<std::vector<std::int64_t>> read_counters(const std::vector<std::string>& names, Deadline deadline) const;
  Result<void> join(const std::string& group, const std::string& member, Deadline deadline) const;
  Result<void> leave(const std::string& group, const std::string& member, Deadline deadline) const;
  Result<GroupState> members(const std::string& group, Deadline deadline) const;
  /// As wait_for_key().
  Result<GroupState> wait_for_members(const std::string& group, std::uint64_t after, Deadline deadline,
                                      const std::stop_token& stop = {}) const;
  /// Until there are some, or it is over, or as it stands at the deadline.
  Result<NumbersState> take_numbers(const TakeNumbers& take, Deadline deadline, const std::stop_token& stop = {}) const;
  /// Until all participants have arrived. kDeadlineExceeded names those that haven't; nobody passes with one that gave
  /// up.
  Result<void> pass_barrier(const std::string& barrier, const std::string& participant,
                            const std::vector<std::string>& participants, Deadline deadline,
                            const std::stop_token& stop = {}) const;

 private:
  template <class T>
  Result<T> ask(CoordinationRequest request, Deadline deadline, const std::stop_token& stop = {}) const;
  template <class T>
  Result<T> wait(CoordinationRequest request, Deadline deadline, const std::stop_token& stop,
                 const std::function<bool(const T&)>& is_there) const;

  Ask ask_;
};

/// Membership in a group of the run, over whatever connection there is, until this object ends or the run does; it
/// doesn't leave. Beside it one key is watched.
class Membership {
 public:
  Membership(transport::Endpoint& endpoint, const TaskClient& server, std::string group, std::string member,
             std::string watched, KeyState known);
  ~Membership();
  Membership(const Membership&) = delete;
  Membership& operator=(const Membership&) = delete;
  /// The watched key, as last heard.
  KeyState watched() const;

 private:
  class Loop;
  std::shared_ptr<Loop> loop_;  // with the requests that are under way
};

}  // namespace tfd::task
