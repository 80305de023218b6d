#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// The signals of a training: SIGUSR1 saves a checkpoint and continues; SIGTERM, SIGINT and SIGHUP save one and stop
// within the grace; a second SIGTERM or SIGINT, a second or more later, stops at once. So does SIGPIPE stop it, where
// the reader of the events is gone: Events sends it to this process. Thread rule: a thread of its own.
#include <atomic>
#include <memory>
#include <string_view>
#include <thread>

#include "tfd/cli/tool.hpp"
#include "tfd/process/fd.hpp"
#include "tfd/process/signals.hpp"
#include "tfd/train/training.hpp"

namespace tfd::training {

/// Writes the error's line, as `tool`, and ends the process with its code. Files on disk are whole: checkpoints are
/// renamed into place.
[[noreturn]] void end_process(std::string_view tool, const Error& why, cli::Io& io);

class SignalThread {
 public:
  /// `tool` begins what it says. `trains`: there will be something to save, so SIGPIPE doesn't end the process at once.
  static Result<std::unique_ptr<SignalThread>> start(std::string tool, Duration grace, cli::Io& io,
                                                     bool trains = false);
  ~SignalThread() { ending_.write.reset(); }

  const std::shared_ptr<train::Interrupts>& interrupts() const { return interrupts_; }
  /// Before this there is nothing to save: a signal ends the process as it would have.
  void begin_training() { training_ = true; }
  int stopped_by() const { return stopped_by_; }

 private:
  SignalThread(std::string tool, process::SignalSource source, process::Pipe ending, Duration grace, cli::Io& io);
  void run();
  void take(int signal);

  const std::string tool_;
  process::SignalSource source_;
  process::Pipe ending_;
  const std::shared_ptr<train::Interrupts> interrupts_;  // with the training
  const Duration grace_;
  cli::Io& io_;
  std::atomic<bool> training_{false};
  std::atomic<int> stopped_by_{0};
  Clock::time_point stopped_at_{};
  Deadline gives_up_ = Deadline::never();
  std::jthread thread_;  // last: uses all of the above
};

}  // namespace tfd::training
