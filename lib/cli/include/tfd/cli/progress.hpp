#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Progress on stderr: a rewritten bar on a terminal, one line per change of state on a pipe, nothing when quiet.
// Thread rule: one thread.
#include <chrono>
#include <cstdint>
#include <string>

#include "tfd/cli/tool.hpp"

namespace tfd::cli {

class Progress {
 public:
  Progress(Io& io, std::string what, std::int64_t total);
  ~Progress();
  /// `note` is shown behind the counter ("loss 0.31"). On a terminal at most ten times a second.
  void update(std::int64_t done, const std::string& note);
  /// A change of state: a line of its own ("worker:1 lost").
  void say(const std::string& line);
  /// Ends the bar's line.
  void finish();

 private:
  Io& io_;
  std::string what_;
  std::int64_t total_;
  bool terminal_ = false;
  bool drawn_ = false;
  std::chrono::steady_clock::time_point last_{};
};

}  // namespace tfd::cli
