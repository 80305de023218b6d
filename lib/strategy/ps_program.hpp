#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// A program with the variables that asynchronous workers need beside its own: the global step, what each worker has
// pushed, who has ended and whether all shall. All on the first parameter server. Private to the room. Thread rule:
// pure functions.
#include <string_view>

#include "tfd/program/program.hpp"
#include "tfd/runtime/parameter_servers.hpp"
#include "tfd/runtime/replica_copies.hpp"
#include "tfd/strategy/parameter_server.hpp"

namespace tfd::strategy {

inline constexpr std::string_view kWorkerUpdates = "worker_updates";   // s64[clients]
inline constexpr std::string_view kWorkerBeats = "worker_beats";       // s64[clients], see sign_of_life.hpp
inline constexpr std::string_view kWorkersEnded = "workers_ended";     // s64[clients]
inline constexpr std::string_view kFirstStep = "training_first_step";  // the global one, where the chief began
/// Not 0 where the chief has ended the training before its last step: all read it with the global step.
inline constexpr std::string_view kStopped = "training_stopped";
/// The global step of variables that nobody has initialised or restored yet.
inline constexpr std::int64_t kNotInitialised = -1;

struct PsProgram {
  program::Program program;
  runtime::Placement placement;
  runtime::ReplicaCopies copies;  // of as many replicas as this worker has
};

/// The global step first, then the program's variables, as the strategy places them. kInvalidArgument where the program
/// has a variable of one of these names; errors of ReplicaCopies::make().
Result<PsProgram> make_ps_program(const program::Program& program, const ParameterServerStrategy& strategy);

/// Without what only a run that goes on needs: what a checkpoint keeps.
runtime::NamedState checkpoint_state(runtime::NamedState state);
/// The inverse, of a checkpoint of any strategy at that step: not initialised yet, nobody has done anything.
runtime::NamedState import_state_of(runtime::NamedState checkpoint, std::int64_t step, std::size_t clients);
/// `values` over what `now` says of the counters: the training isn't set back.
runtime::NamedState with_counters_of(const runtime::NamedState& now, runtime::NamedState values);
/// kNotFound where it isn't there.
Result<std::int64_t> global_step_of(const runtime::NamedState& state);

}  // namespace tfd::strategy
