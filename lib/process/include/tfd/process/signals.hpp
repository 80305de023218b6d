#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Signals as readable events: block them early in main, read them from a signalfd. Thread rule: make it before any
// thread is started (the mask is inherited); then one thread reads.
#include <optional>
#include <span>

#include "tfd/process/fd.hpp"

namespace tfd::process {

struct SignalInfo {
  int number = 0;
  bool from_terminal = false;  // Ctrl-C: the whole foreground group has got it already
  int sender = 0;              // process; 0: the kernel, or one outside of this PID namespace
};

class SignalSource {
 public:
  /// Blocks `signals` in this thread (and those started later), except those that are ignored (nohup).
  static Result<SignalSource> make(std::span<const int> signals);
  int fd() const { return fd_.get(); }    // readable when one is pending
  std::optional<int> next();              // never blocks
  std::optional<SignalInfo> next_info();  // never blocks

 private:
  Fd fd_;
};

/// Ends this process by `signal` with its default action, as a shell expects after Ctrl-C; as PID 1: exits 128 +
/// signal.
[[noreturn]] void die_of_signal(int signal);

}  // namespace tfd::process
