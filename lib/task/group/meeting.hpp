#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// How members meet: who has come, whether they agree, and what all are told once nobody is missing. Private to the
// room. Thread rule: a state machine without threads or clocks.
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tfd/base/error.hpp"
#include "tfd/collective/communicator.hpp"

namespace tfd::task {

/// What a member says of itself when it joins.
struct JoinRequest {
  std::string name;     // "worker:1"
  std::string host;     // collective::host_id()
  std::string address;  // of its collective::Listener
  std::int64_t pid = 0;
  int devices = 1;
  std::vector<std::pair<std::string, std::string>> agreement;
};
/// What every member is told.
struct MeetingResult {
  std::uint64_t generation = 1;
  std::vector<collective::Member> members;  // by rank
  std::vector<int> devices;                 // by rank
  collective::Secret secret{};
};

// Messages are JSON. parse_x(): kInvalidArgument, since peers aren't trusted.
std::string format_join(const JoinRequest& request);
Result<JoinRequest> parse_join(std::string_view text);
std::string format_result(const MeetingResult& result);
Result<MeetingResult> parse_result(std::string_view text);

class Meeting {
 public:
  /// `names`: of the members, by rank. Names in the wrong order are the caller's mistake.
  explicit Meeting(std::vector<std::string> names) : names_(std::move(names)), joined_(names_.size()) {}

  /// Adds a member; one that came before with the same process replaces itself. Returns its rank. kInvalidArgument: it
  /// disagrees with the first one that came, or isn't a member; kAlreadyExists: another process has its name;
  /// kFailedPrecondition: the meeting is over.
  Result<int> join(const JoinRequest& request);
  /// Forgets a member whose connection has ended, unless the meeting is over.
  void forget(int rank);
  /// Names of those that haven't come.
  std::vector<std::string> missing() const;
  bool is_complete() const { return missing().empty(); }
  /// Ends a complete meeting. `secret`: fresh.
  MeetingResult end(const collective::Secret& secret);

 private:
  Result<void> check_agreement(const JoinRequest& request) const;

  const std::vector<std::string> names_;
  std::vector<std::optional<JoinRequest>> joined_;  // by rank
  bool is_over_ = false;
};

}  // namespace tfd::task
