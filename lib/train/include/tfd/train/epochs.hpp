#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Converts epochs to steps, for strategies that count steps only: an epoch is one pass over the data by all workers
// together. Thread rule: pure function; it may read the data once.
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "tfd/base/environment.hpp"
#include "tfd/function/function.hpp"
#include "tfd/program/program.hpp"

namespace tfd::train {

struct EpochsOptions {
  std::string data_root = {};  // relative data paths start here; empty: at the program's directory
  int elements_per_step = 1;   // the number of replicas
  /// Needed if filters and maps determine the number of elements: without it those can't be counted here.
  std::function<Result<std::shared_ptr<function::Engine>>()> make_engine = {};
  Environment command_environment = {};  // environment of functions that are commands
};

struct StepsOfEpochs {
  program::Program program;
  std::int64_t elements = 0;  // elements of all epochs; 0: the program states none
  std::int64_t epochs = 0;    // 0: the program states none
};

/// Converts a train block with epochs to one with steps: epochs times the elements of its dataset, which then repeats,
/// divided by the elements of a step, rounded up. Other programs are returned unchanged. The data's error if the
/// elements can't be counted here.
Result<StepsOfEpochs> epochs_as_steps(program::Program program, const EpochsOptions& options = {});

/// Number of steps for these elements if each of `replicas` takes one per step: the last step may have fewer.
std::int64_t steps_over(std::int64_t elements, int replicas);
/// Number of replicas with an element in that step (from 0): all, except in the last step.
int elements_of_step(std::int64_t step, std::int64_t elements, int replicas);

}  // namespace tfd::train
