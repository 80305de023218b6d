#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// One factory per optimizer, each defined in the file of that name. To add one: write NAME.cpp, declare it here, name
// it in the table of optimizer.cpp. Thread rule: free functions.
#include <memory>

#include "settings.hpp"
#include "tfd/variable/optimizer.hpp"

namespace tfd::variable {

/// Reads its keys; the caller calls settings.finish() and drops the optimizer if that fails.
std::shared_ptr<const Optimizer> make_sgd(Settings& settings);
std::shared_ptr<const Optimizer> make_adam(Settings& settings);

}  // namespace tfd::variable
