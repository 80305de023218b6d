#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// A program extended by a variable for asynchronous workers: the global step, which counts the updates of all workers,
// each atomically with its update. It is on the first parameter server. Private to the room. Thread rule: pure
// functions.
#include <string_view>

#include "tfd/program/program.hpp"
#include "tfd/step/replica_copies.hpp"
#include "tfd/strategy/parameter_server.hpp"
#include "tfd/task/parameter_servers.hpp"

namespace tfd::strategy {

struct PsProgram {
  program::Program program;
  task::Placement placement;
  step::ReplicaCopies copies;  // copies for this worker's number of replicas
};

/// Makes the program: the global step first, then the program's variables, placed by the strategy. kInvalidArgument if
/// the program has a variable of its name; errors of ReplicaCopies::make().
Result<PsProgram> make_ps_program(const program::Program& program, const ParameterServerStrategy& strategy);

/// The state that a checkpoint keeps.
tensor::NamedTensors checkpoint_state(tensor::NamedTensors state);
/// The state to import from a checkpoint of any strategy at that step.
tensor::NamedTensors import_state_of(const PsProgram& program, tensor::NamedTensors checkpoint, std::int64_t step);
/// Returns `values` with the global step of `now`, so that the training isn't set back.
tensor::NamedTensors with_global_step_of(const tensor::NamedTensors& now, tensor::NamedTensors values);
/// Reads the global step. kNotFound if the state has none.
Result<std::int64_t> global_step_of(const tensor::NamedTensors& state);

}  // namespace tfd::strategy
