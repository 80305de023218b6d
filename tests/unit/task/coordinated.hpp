#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// A state of the coordination service without a task, its requests and their replies.
#include <doctest/doctest.h>

#include <map>
#include <string>
#include <utility>

#include "coordination/coordination_state.hpp"

namespace tfd::task::test {

constexpr std::uint32_t kWaits = 1000;

/// Requests to a state, with tickets of their own.
class Coordinated {
 public:
  Coordinated() = default;
  explicit Coordinated(IsApplied is_applied) : state(std::move(is_applied)) {}
  /// Its ticket; the reply is in replies.
  std::uint64_t ask(std::uint64_t connection, CoordinationRequest request) {
    const std::uint64_t ticket = next_++;
    keep(state.apply(connection, ticket, request));
    return ticket;
  }
  template <class T>
  Result<T> answer(std::uint64_t ticket) {
    const auto found = replies.find(ticket);
    if (found == replies.end()) return fail(Code::kNotFound, "no answer");
    if (!found->second) return fail(found->second.error());
    return std::get<T>(*found->second);
  }
  template <class T>
  Result<T> now(std::uint64_t connection, CoordinationRequest request) {
    return answer<T>(ask(connection, std::move(request)));
  }
  bool is_answered(std::uint64_t ticket) const { return replies.contains(ticket); }
  void keep(CoordinationState::Replies more) {
    for (auto& one : more) {
      CHECK_FALSE(replies.contains(one.ticket));
      replies.emplace(one.ticket, std::move(one.answer));
    }
  }

  CoordinationState state;
  std::map<std::uint64_t, Result<CoordinationAnswer>> replies;

 private:
  std::uint64_t next_ = 0;
};

inline std::string members_of(const GroupState& group) {
  std::string out;
  for (const GroupMember& member : group.members)
    out += member.name + (member.state == MemberState::kHere ? "+ " : member.state == MemberState::kLeft ? "- " : "! ");
  return out;
}

}  // namespace tfd::task::test
