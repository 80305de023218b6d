#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Epochs: the fencing tokens of a cluster. Every run has one, each of its requests carries it, and a task refuses
// requests of another run than its own. Parameter server 0 issues them, one after the other; no clock decides which is
// newer. An epoch is (issuer id, counter): the issuer id, in the upper half, is random per process of parameter server
// 0, so that a restarted one needn't know how far its predecessor had come.
// Source: fencing tokens as in M. Kleppmann, "How to do distributed locking".
// Thread rule: pure functions.
#include <cstdint>
#include <string>

namespace tfd::task {

/// Makes an epoch with a new issuer id: the first one of a process that issues them, or that of a run without parameter
/// servers.
std::uint64_t make_first_epoch();

/// True if both epochs have one issuer and the first one is smaller. With two issuers neither is older: whichever comes
/// is the newer.
bool is_older(std::uint64_t epoch, std::uint64_t than);
bool has_same_issuer(std::uint64_t one, std::uint64_t other);

/// A request for an epoch.
struct Claim {
  std::string host;  // of the process that asks
  std::int64_t pid = 0;
  /// Takes the cluster also from a coordinator that has it and answers: that one is fenced.
  bool take_over = false;
  /// Continues the existing run: asks for that run's epoch in place of a new one.
  bool adopt = false;
  /// An epoch that this process holds; it keeps it over a new connection, unless a newer one was issued.
  std::uint64_t held = 0;
};

/// Makes a claim of this process.
Claim make_claim();

}  // namespace tfd::task
