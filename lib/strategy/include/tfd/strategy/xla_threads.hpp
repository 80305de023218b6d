#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// How many threads XLA has on CPUs. Thread rule: plain values.
#include <functional>

namespace tfd::strategy {

/// XLA's threads in a process, on CPUs. Large products, convolutions and loops are cut by their number, so that the
/// last bits depend on it. It has at least one for each device.
struct XlaThreads {
  int count = 0;           // PJRT_NPROC, or the processors that there are; 0: not known, or no CPUs
  bool is_stated = false;  // by the user, whose word holds; else the members of a group agree on one number
  /// Sets what they agreed on, before the engine is made.
  std::function<void(int count)> use = {};
};

}  // namespace tfd::strategy
