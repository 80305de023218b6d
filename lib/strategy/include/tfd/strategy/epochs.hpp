#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Epochs as steps, for strategies that count only those: an epoch is one pass in all over the data, whoever makes it.
// Thread rule: pure function; it may read the data once.
#include <cstdint>
#include <string>

#include "tfd/program/program.hpp"

namespace tfd::strategy {

struct EpochsOptions {
  std::string data_root = {};          // relative data paths start here; empty: at the program's directory
  std::int64_t elements_per_step = 1;  // as many as there are replicas
};

/// A program whose train block states epochs, as one that states steps: epochs times the elements of its dataset, which
/// then repeats, over the elements of a step. Other programs as they are. The data's error where the elements can't be
/// counted here.
Result<program::Program> epochs_as_steps(program::Program program, const EpochsOptions& options = {});

}  // namespace tfd::strategy
