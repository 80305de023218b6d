#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Adopts a training whose coordinator has died, from the state on the parameter servers. The first of them keeps its
// owner while it isn't complete (RunOwner); each knows the sequence numbers that it has applied, which together tell
// how far the training has come (Continuation). Private to the room. Thread rule: pure functions.
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tfd/program/program.hpp"
#include "tfd/task/placement.hpp"
#include "tfd/variable/store.hpp"

namespace tfd::coordinator {

/// Key of the record in the coordination service, in the process's scope, so that it survives a move to another epoch.
inline constexpr const char* kRunKey = "training";

struct RunOwner {
  std::string run;              // the run's id, also in its checkpoints
  std::string program;          // digest_of()
  std::int64_t first_step = 0;  // step of its first sequence number
  /// Epochs of this run: a parameter server with one of these has it. During an adoption these are the new one and the
  /// former ones.
  std::vector<std::uint64_t> epochs;
};
/// Digest that is equal for two trainings if one can continue with the variables of the other: the program without its
/// intervals and ends, the parameter servers, and the number of replicas per worker.
std::string digest_of(const program::Program& program, const task::Placement& placement, int replicas);

std::string format_run(const RunOwner& record);
/// Parses a record; nullopt if malformed.
std::optional<RunOwner> parse_run(std::string_view text);

/// State of a training's sequence numbers.
struct Continuation {
  std::uint64_t next = 0;                      // the first one that no parameter server has seen
  std::vector<std::uint64_t> unfinished = {};  // steps that not all parameter servers have applied, ascending
  std::uint64_t settled = 0;                   // all numbers below are settled
  std::uint64_t unused_below = 0;              // void numbers below `settled`
  std::vector<std::uint64_t> unused = {};      // void numbers from `settled` on
  /// Attempts that each parameter server (by position) has staged and another one has committed: it has to, too, and
  /// drops what else is staged. Empty: nothing is staged anywhere.
  std::vector<std::vector<variable::Attempt>> commits = {};

  /// Number of steps among the numbers below `sequence`, which isn't below `settled`.
  std::uint64_t steps_below(std::uint64_t sequence) const;
};
/// Merges the histories of all parameter servers. A fenced sequence number that no server applied is void; any other
/// one is a step, which is unfinished if some server has neither applied nor fenced it, and none has committed its
/// staged updates. nullopt: they can't be of one run.
std::optional<Continuation> put_together(const std::vector<variable::SequenceHistory>& histories);

}  // namespace tfd::coordinator
