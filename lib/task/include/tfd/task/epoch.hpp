#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Epochs: the fencing tokens of a cluster. Every run has one, each of its requests carries it, and a task refuses what
// is of another run than its own. Parameter server 0 hands them out, one after the other; no clock decides who is
// newer. The upper half of an epoch is its reign: which process of parameter server 0 counts, drawn at random when it
// starts, so that a restarted one needn't know how far its predecessor had come.
// Source: fencing tokens as in M. Kleppmann, "How to do distributed locking".
// Thread rule: pure functions.
#include <cstdint>
#include <string>

namespace tfd::task {

/// An epoch of its own reign: of a process that hands them out, or of a run without parameter servers.
std::uint64_t make_first_epoch();

/// Of two epochs of one reign the smaller one. Of different reigns neither is: whoever comes is the newer.
bool is_older(std::uint64_t epoch, std::uint64_t than);
bool is_same_reign(std::uint64_t one, std::uint64_t other);

/// Who asks for an epoch, and how.
struct Claim {
  std::string host;
  std::int64_t pid = 0;
  /// Also where another coordinator has the cluster and answers: it is fenced off.
  bool take_over = false;
  /// Whose run is there already, and is to go on: that run's epoch, in place of a new one.
  bool adopt = false;
  /// Of one that has this epoch and comes over a new connection: it keeps it, unless a newer one was handed out.
  std::uint64_t held = 0;
};

/// Of this process.
Claim make_claim();

}  // namespace tfd::task
