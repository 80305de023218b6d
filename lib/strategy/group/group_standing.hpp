#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// The state of a group's members when a generation begins, which they tell each other: their steps, the
// newest checkpoint that each sees, XLA's threads. All draw the same conclusions from it. Private to the room. Thread
// rule: plain values.
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tfd/base/deadline.hpp"
#include "tfd/base/error.hpp"
#include "tfd/collective/communicator.hpp"

namespace tfd::strategy {

/// A member's state.
struct Standing {
  std::int64_t step = -1;        // none: it is new
  int replicas = 0;              // of the training, as far as it knows
  std::string position = {};     // of its data
  int threads = 0;               // XLA's in its process, or as many as it would have; 0: not known
  bool keeps_threads = false;    // since XLA has begun there, or its user has said how many
  std::string isa = {};          // instruction set that XLA compiles for there, or would; empty: not known
  bool keeps_isa = false;        // since XLA has begun there
  std::string kernels = {};      // by which programs compute there, or would; kept as the instruction set is
  std::int64_t saved = -1;       // step of the newest checkpoint that it sees, where it is new; -1: none
  std::string run = {};          // its run
  bool starts_over = false;      // ignores existing checkpoints
  std::uint64_t generation = 0;  // of the last writer of its directory of checkpoints
};

/// All members' states, by rank. `round`: of this collective, the same in all. Errors of the collective;
/// kProtocolMismatch: a malformed message.
Result<std::vector<Standing>> gather_standings(collective::Communicator& communicator, std::int64_t round,
                                               const Standing& own, Deadline deadline);

/// The member from which the others take the state: the one with the most steps; in a new training, the one whose
/// checkpoint it continues: the chief, unless another one has a newer one of the chief's run, or the chief has none.
int find_root(const std::vector<Standing>& all);

/// XLA's threads in a member's process, by rank, once those that keep none have `agreed`.
std::vector<int> threads_of(const std::vector<Standing>& all, int agreed);
/// A warning if these aren't the same everywhere; nullopt: they are, or the chief's aren't known.
std::optional<std::string> describe_unlike_threads(const std::vector<int>& threads,
                                                   const std::vector<std::string>& names);

/// The newest instruction set that all processors have; empty: not known. nullopt: they are of different architectures.
std::optional<std::string> common_isa_of(const std::vector<Standing>& all);
/// A line about members that would compile for different instruction sets, by rank; nullopt: all are alike.
/// `is_warning`: they can't be made alike.
struct UnlikeIsa {
  std::string text;
  bool is_warning = false;
};
std::optional<UnlikeIsa> describe_unlike_isa(const std::vector<Standing>& all, const std::vector<std::string>& names);

/// The kernels by which all compute from now on: those of members that keep theirs, else those that all have, else the
/// plug-in's own; empty: not known.
std::string common_kernels_of(const std::vector<Standing>& all);
/// A line about members that compute by different ones; as describe_unlike_isa().
std::optional<UnlikeIsa> describe_unlike_kernels(const std::vector<Standing>& all,
                                                 const std::vector<std::string>& names);

}  // namespace tfd::strategy
