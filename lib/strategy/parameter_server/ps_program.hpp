#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// A program with the variable that asynchronous workers need beside its own: the global step, which counts the updates
// of all workers, each together with its update. It is on the first parameter server. Private to the room. Thread rule:
// pure functions.
#include <string_view>

#include "tfd/program/program.hpp"
#include "tfd/step/replica_copies.hpp"
#include "tfd/strategy/parameter_server.hpp"
#include "tfd/task/parameter_servers.hpp"

namespace tfd::strategy {

struct PsProgram {
  program::Program program;
  task::Placement placement;
  step::ReplicaCopies copies;  // of as many replicas as this worker has
};

/// The global step first, then the program's variables, as the strategy places them. kInvalidArgument where the program
/// has a variable of its name; errors of ReplicaCopies::make().
Result<PsProgram> make_ps_program(const program::Program& program, const ParameterServerStrategy& strategy);

/// What a checkpoint keeps.
task::NamedState checkpoint_state(task::NamedState state);
/// The inverse, of a checkpoint of any strategy at that step.
task::NamedState import_state_of(const PsProgram& program, task::NamedState checkpoint, std::int64_t step);
/// `values` with the global step of `now`: the training isn't set back.
task::NamedState with_global_step_of(const task::NamedState& now, task::NamedState values);
/// kNotFound where it isn't there.
Result<std::int64_t> global_step_of(const task::NamedState& state);

}  // namespace tfd::strategy
