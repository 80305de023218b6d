#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Values of an agreement that have parts: what two of them differ in. Private to the room. Thread rule: a pure
// function.
#include <string>

namespace tfd::group {

/// The difference between two values, and each one's part, for messages.
struct PartDifference {
  std::string what;
  std::string one, other;
};
/// The first part that differs of two values of `what`, both by format_parts(), or the values themselves where they
/// have no parts: "the program: datasets.train[0].range". Peers aren't trusted: unexpected values have no parts.
PartDifference find_difference(const std::string& what, const std::string& one, const std::string& other);

}  // namespace tfd::group
