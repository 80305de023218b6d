#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// When a wait is reported: after some seconds, after twice as many, four times, and so on. Thread rule: plain values.
#include "tfd/base/deadline.hpp"

namespace tfd {

/// The next report of a wait that has lasted `waited`: `after` doubled until it is later, so that a process that was
/// stopped meanwhile reports once.
inline Duration doubled_beyond(Duration after, Duration waited) {
  while (after <= waited) after *= 2;
  return after;
}

}  // namespace tfd
