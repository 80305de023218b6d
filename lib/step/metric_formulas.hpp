#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Metrics that are functions of sums, as Keras computes them. Thread rule: plain functions.
#include <map>
#include <vector>

#include "tfd/program/program.hpp"

namespace tfd::step {

/// The reported value: the formula of the parts' sums, each a number, or numbers from the lowest threshold to
/// the highest. A quotient by zero is zero, except for the root of a mean of nothing, which is NaN. source:
/// Keras 3.15, metrics.RootMeanSquaredError, Precision, Recall and AUC.
double value_of(program::Formula formula, const std::map<program::Part, std::vector<double>>& sums);

}  // namespace tfd::step
