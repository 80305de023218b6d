#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// How many threads XLA has on CPUs, which instructions it uses there, and by which kernels. Thread rule: plain values.
#include <functional>
#include <string>

namespace tfd::strategy {

/// XLA's threads in a process, on CPUs. Large products, convolutions and loops are cut by their number, so that the
/// last bits depend on it. It has at least one for each device.
struct XlaThreads {
  int count = 0;           // PJRT_NPROC, or the number of processors; 0: not known, or no CPUs
  bool is_stated = false;  // by the user, whose word holds; else the members of a group agree on one number
  /// Sets what they agreed on, before the engine is made.
  std::function<void(int count)> use = {};
  /// The newest instruction set that XLA compiles for (function/isa.hpp), on which the last bits depend, too; empty:
  /// not known, or no CPUs.
  std::string isa = {};
  /// Sets what the members of a group agreed on, before the engine is made.
  std::function<void(const std::string& isa)> use_isa = {};
  /// How programs compute (function/kernels.hpp), on which they depend, too; empty: not known, or no CPUs.
  std::string kernels = {};
  std::function<void(const std::string& kernels)> use_kernels = {};
};

}  // namespace tfd::strategy
