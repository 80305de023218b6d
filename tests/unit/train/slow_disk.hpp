#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// A disk that holds up whoever syncs a file, until it is let go. The process's fsync() asks it (slow_disk.cpp). Thread
// rule: thread-safe; one at a time.
#include "gate.hpp"

namespace tfd::train::test {

class SlowDisk {
 public:
  SlowDisk() { current() = this; }
  ~SlowDisk() {
    let_go();
    current() = nullptr;
  }
  SlowDisk(const SlowDisk&) = delete;
  SlowDisk& operator=(const SlowDisk&) = delete;

  void hold() { gate_.close(); }
  void let_go() { gate_.open(); }
  /// Waits until somebody is held up.
  void await_somebody() { gate_.wait_for(1); }

  /// The body of fsync().
  static void pass() {
    if (SlowDisk* const disk = current()) disk->gate_.pass();
  }

 private:
  static SlowDisk*& current() {
    static SlowDisk* disk = nullptr;
    return disk;
  }

  tfd::test::Gate gate_;
};

}  // namespace tfd::train::test
