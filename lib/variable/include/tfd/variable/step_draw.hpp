#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Random numbers for a step: a function of seed, place and step alone (Philox4x32-10), so that a step which is run
// again, elsewhere or after a restart, draws the same. Thread rule: pure functions.
#include <cstdint>
#include <string>

#include "tfd/base/error.hpp"
#include "tfd/tensor/tensor.hpp"

namespace tfd::variable {

/// The key of a step's random numbers: those of any two that differ in anything are independent.
struct StepDraw {
  std::uint64_t seed = 0;
  std::string function;      // its name
  std::uint32_t input = 0;   // which of its random inputs
  std::uint64_t number = 0;  // of the step, or of the closure
  bool is_closure = false;   // closures are counted by themselves
  std::uint32_t replica = 0;
};

/// Integers get uniform bits (a u32[2] is a key of jax.random), floating-point numbers a uniform distribution on
/// [0, 1). kInvalidArgument: bool.
Result<tensor::Tensor> draw_for_step(const tensor::TensorSpec& spec, const StepDraw& draw);

}  // namespace tfd::variable
