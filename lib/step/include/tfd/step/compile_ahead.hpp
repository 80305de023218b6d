#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Compiles, beside the first steps of a training, what later ones and evaluations will call: the first step waits for
// nothing but its own module, and what can't be compiled is known soon after it. Thread rule: one thread calls.
#include <atomic>
#include <functional>
#include <future>
#include <vector>

#include "tfd/base/error.hpp"

namespace tfd::step {

/// Compiles one module, unless that was done meanwhile. Thread-safe beside whoever calls it.
using CompileOne = std::function<Result<void>()>;

class CompileAhead {
 public:
  CompileAhead() = default;
  ~CompileAhead() { end(); }
  CompileAhead(const CompileAhead&) = delete;
  CompileAhead& operator=(const CompileAhead&) = delete;

  /// One after another, on a thread of its own. What they use outlives this, or end() comes before.
  void begin(std::vector<CompileOne> work);
  bool has_begun() const { return has_begun_; }
  /// The error of the first one that failed, once.
  Result<void> check();
  /// Waits for the one that is being compiled; the others are left.
  void end();

 private:
  bool has_begun_ = false;
  std::atomic<bool> stop_ = false;
  std::future<Result<void>> done_;
};

}  // namespace tfd::step
