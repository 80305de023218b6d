#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Connects all members with each other: a member connects to those of lower rank, and accepts those of higher rank.
// Strangers, members of other generations and false proofs are dropped; they disturb nobody. Thread rule: blocks its
// thread.
#include <memory>
#include <vector>

#include "stream.hpp"
#include "tfd/collective/communicator.hpp"

namespace tfd::collective {

/// The others' streams, by rank; null: this one's. kDeadlineExceeded names those that didn't come, kPermissionDenied
/// one that doesn't know the secret.
Result<std::vector<std::unique_ptr<Stream>>> meet(const Members& members, Listener* listener, Deadline deadline);

}  // namespace tfd::collective
