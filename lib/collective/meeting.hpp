#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Connects all members with each other: a member connects to those of lower rank, and accepts those of higher rank.
// Strangers, members of other generations and false proofs are dropped; they disturb nobody. Thread rule: blocks its
// thread.
#include <vector>

#include "handshake.hpp"
#include "tfd/collective/communicator.hpp"
#include "tfd/process/fd.hpp"

namespace tfd::collective {

/// A connection to a member that has proven itself.
struct Met {
  process::Fd socket;
  bool asked = false;  // this side has connected
  SessionKeys keys = {};
};
/// The others' connections, by rank; none: this one's. kDeadlineExceeded names those that didn't come,
/// kPermissionDenied one without the secret. An error of `find_lost` ends it, too. `unconnected`: as connect().
Result<std::vector<Met>> meet(const Members& members, Listener* listener, Deadline deadline,
                              const FindLost& find_lost = {}, std::vector<std::string>* unconnected = nullptr);

}  // namespace tfd::collective
