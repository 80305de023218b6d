#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Epochs as steps, for strategies that count only those: an epoch is one pass in all over the data, whoever makes it.
// Thread rule: pure function; it may read the data once.
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
  int elements_per_step = 1;   // as many as there are replicas
  /// Where filters and maps decide how many elements there are: without it those can't be counted here.
  std::function<Result<std::shared_ptr<function::Engine>>()> make_engine = {};
  Environment command_environment = {};  // of functions that are commands
};

struct StepsOfEpochs {
  program::Program program;
  std::int64_t elements = 0;  // of all epochs; 0: the program states none
};

/// A program whose train block states epochs, as one that states steps: epochs times the elements of its dataset, which
/// then repeats, over the elements of a step, rounded up. Other programs as they are. The data's error where the
/// elements can't be counted here.
Result<StepsOfEpochs> epochs_as_steps(program::Program program, const EpochsOptions& options = {});

/// Steps that so many elements make, where each of `replicas` takes one a step: the last may have fewer.
std::int64_t steps_over(std::int64_t elements, int replicas);
/// How many of the replicas have an element in that step (from 0): all but in the last, which takes what is left.
int elements_of_step(std::int64_t step, std::int64_t elements, int replicas);

}  // namespace tfd::train
