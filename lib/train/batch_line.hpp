#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// How several replicas share what the program states as a batch, in a line for people. Private to the room. Thread
// rule: plain functions.
#include <optional>
#include <string>

#include "tfd/program/program.hpp"

namespace tfd::train {

/// "2 replicas share batches of 50: 25 each", or what they take otherwise. `of_each_worker`: the
/// replicas are those of one of several workers. nullopt: there is one replica, or the size of the batches is not
/// known.
std::optional<std::string> describe_batches(const program::Program& program, int replicas, bool of_each_worker);

}  // namespace tfd::train
