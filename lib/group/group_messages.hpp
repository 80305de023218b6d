#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// The messages between the members of a group. A member answers besides these only what any task answers: its status,
// and its shared keys. Private to the room. Thread rule: pure functions.
#include <cstdint>
#include <string>
#include <utility>

#include "tfd/transport/endpoint.hpp"

namespace tfd::group {

enum class Kind : std::uint16_t {  // numbers that tasks don't use
  kMeet = 25,                      // joins a meeting, and is answered when it ends (meeting.hpp)
  kAskStop = 26,  // by a member that was interrupted; the epoch is the generation, the bytes its secret
};

inline transport::Message make_message(Kind kind, std::string bytes = {}, std::uint64_t epoch = 0) {
  transport::Message out;
  out.kind = static_cast<std::uint16_t>(kind);
  out.meta = std::move(bytes);
  out.epoch = epoch;
  return out;
}

}  // namespace tfd::group
