#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// A training's claim on its directory of checkpoints, so that no second training begins beside it. The file ".lock" in
// the directory names the process that holds it. The kernel releases the lock on that file when the process ends,
// however it ends. Where locks don't reach other hosts, or a host died with its lock, the beat decides: the holder
// counts up a number in the file, and a process that wants the directory watches whether it changes. Clocks are never
// compared. The index's writer (checkpoint_index.hpp) remains what refuses a late write.
// Thread rule: one thread; a thread of its own counts the beat.
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "tfd/base/deadline.hpp"
#include "tfd/base/error.hpp"

namespace tfd::train {

inline constexpr const char* kDirectoryLockName = ".lock";

/// How to claim a directory that another process holds, or held.
enum class Claim : std::uint8_t {
  kAtOnce,      // fails if that isn't certainly over
  kWatchHosts,  // watches the beat of a process on another host; a process on this host is asked through the kernel
  kWatchAll,    // watches every beat: a process on this host may be frozen
  kTake         // takes the directory from any process
};

struct DirectoryLockOptions {
  Duration beat = std::chrono::seconds(2);
  Duration watch = std::chrono::seconds(10);              // without a beat, after which the holder counts as gone
  std::string kernel = {};                                // which kernel runs this process; empty: as it says itself
  std::function<bool()> is_stopping = {};                 // ends a watch
  std::function<void(const std::string& line)> say = {};  // that a watch begins
};

class DirectoryLock {
 public:
  /// Claims an existing directory. Null if no lock file can be written there. kPermissionDenied: another process holds
  /// it, which the message names. kCancelled: DirectoryLockOptions::is_stopping ended a watch.
  static Result<std::unique_ptr<DirectoryLock>> acquire(const std::string& directory, Claim claim,
                                                        DirectoryLockOptions options = {});
  /// Releases the directory.
  ~DirectoryLock();
  DirectoryLock(const DirectoryLock&) = delete;
  DirectoryLock& operator=(const DirectoryLock&) = delete;

 private:
  struct Held;
  explicit DirectoryLock(std::unique_ptr<Held> held);
  std::unique_ptr<Held> held_;
};

}  // namespace tfd::train
