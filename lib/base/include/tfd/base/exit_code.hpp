#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// The exit codes of tfd's tools, as tfd-exit(7) has them: what a tool ends with, and what a launcher understands of its
// tasks. Thread rule: constants.

namespace tfd {

/// Also: 128+N where signal N ended a child.
enum class ExitCode : int {
  kDone = 0,
  kNo = 1,  // a negative answer: not ready, not found, differs, a closure failed
  kUsage = 64,
  kBadInput = 65,
  kUnavailable = 69,
  kBug = 70,
  kSystem = 71,
  kTryAgain = 75,  // deadline passed or interrupted; the same command may succeed
  kProtocol = 76,
  kNotPermitted = 77,
  kConfiguration = 78,
  kSomeFailed = 123,
  kNotRunnable = 126,  // a child
  kNotFound = 127,     // a child
};
constexpr int number_of(ExitCode code) { return static_cast<int>(code); }

}  // namespace tfd
