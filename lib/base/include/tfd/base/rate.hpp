#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Rates as people read them. Thread rule: pure function.
#include <string>

namespace tfd {

/// At least four digits, grouped from 1000 on: "0.1234", "650.5", "13 810", "2 000 000". NaN, infinities and values
/// beyond 1e15 are formatted as fmt formats them.
std::string rounded_rate(double rate);

}  // namespace tfd
