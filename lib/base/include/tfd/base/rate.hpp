#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Rates as people read them. Thread rule: pure function.
#include <string>

namespace tfd {

/// Four digits at least, with those of a number from 1000 on in groups: "0.1234", "650.5", "13 810", "2 000 000". What
/// is no number, or beyond 1e15, is as fmt has it.
std::string rounded_rate(double rate);

}  // namespace tfd
