#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Compiles modules of later steps and evaluations during the first steps of a training: the first step waits for its
// own module only, and compile errors are known soon after. Thread rule: one thread calls.
#include <atomic>
#include <functional>
#include <future>
#include <vector>

#include "tfd/base/error.hpp"

namespace tfd::step {

/// Compiles one module, unless that was done meanwhile. May run concurrently with calls of it.
using CompileOne = std::function<Result<void>()>;

class CompileAhead {
 public:
  CompileAhead() = default;
  ~CompileAhead() { end(); }
  CompileAhead(const CompileAhead&) = delete;
  CompileAhead& operator=(const CompileAhead&) = delete;

  /// Starts compiling one after another, on a thread of its own. Objects they use outlive this one, or end() is called
  /// first.
  void begin(std::vector<CompileOne> work);
  bool has_begun() const { return has_begun_; }
  /// Returns the first error, once.
  Result<void> check();
  /// Waits for the module being compiled and drops the others.
  void end();

 private:
  bool has_begun_ = false;
  std::atomic<bool> stop_ = false;
  std::future<Result<void>> done_;
};

}  // namespace tfd::step
