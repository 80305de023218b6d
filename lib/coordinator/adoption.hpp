#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Going on with a training whose coordinator has died, as it stands on the parameter servers. The first of them keeps
// whose it is while it isn't over (RunOwner); each knows which sequence numbers it has applied, and put together these
// say how far the training has come (Continuation). Private to the room. Thread rule: pure functions.
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tfd/program/program.hpp"
#include "tfd/task/placement.hpp"
#include "tfd/variable/store.hpp"

namespace tfd::coordinator {

/// A key of the coordination service, in the scope of the process: it is there while a run moves to another epoch.
inline constexpr const char* kRunKey = "training";

struct RunOwner {
  std::string run;              // the id that its checkpoints have, too
  std::string program;          // digest_of()
  std::int64_t first_step = 0;  // of its first sequence number
  /// Parameter servers have this run if theirs is one of these. Until an adoption is over, it is that and those before.
  std::vector<std::uint64_t> epochs;
};
/// The same of two trainings where one can go on with the variables of the other: the program but for when it is
/// logged, saved, evaluated and over, the parameter servers, and how many replicas each worker has.
std::string digest_of(const program::Program& program, const task::Placement& placement, int replicas);

std::string format_run(const RunOwner& record);
/// nullopt: it isn't one.
std::optional<RunOwner> parse_run(std::string_view text);

/// Where the sequence numbers of a training stand.
struct Continuation {
  std::uint64_t next = 0;                      // the first one that nobody has had
  std::vector<std::uint64_t> unfinished = {};  // of steps that not all parameter servers have, ascending
  std::uint64_t settled = 0;                   // everything below is over
  std::uint64_t unused_below = 0;              // of those: that came to nothing
  std::vector<std::uint64_t> unused = {};      // from `settled` on: that came to nothing

  /// Of the numbers below `sequence`, which isn't below `settled`: those that are steps.
  std::uint64_t steps_below(std::uint64_t sequence) const;
};
/// Of all parameter servers. A number that is fenced, and that none of them has applied, came to nothing; any other one
/// is a step, which isn't finished where one of them neither has it nor is fenced. nullopt: they can't be of one run.
std::optional<Continuation> put_together(const std::vector<variable::SequenceHistory>& histories);

}  // namespace tfd::coordinator
