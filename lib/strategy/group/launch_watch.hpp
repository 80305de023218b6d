#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Watches what this process has launched on its devices together with other processes. The thread that launched it is
// within the plug-in, and work on devices can't be canceled through PJRT: if a member is lost meanwhile, or it
// doesn't end in time, the process has to end, and this is where it does. Private to the room. Thread rule: one thread
// launches; the watching has a thread of its own.
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <thread>

#include "tfd/base/deadline.hpp"
#include "tfd/base/error.hpp"
#include "tfd/base/thread_annotations.hpp"

namespace tfd::strategy {

struct LaunchWatchOptions {
  std::function<std::optional<Error>()> find_lost;         // a member that is gone; for any thread
  std::function<void(const std::string& line)> say = {};   // what a wait is for
  Duration stall_report = std::chrono::seconds(10);        // of a wait, and again after three times as long
  Duration timeout = std::chrono::hours(24 * 365);         // of one launch
  std::function<void(const Error& why)> end_process = {};  // doesn't return; empty: says why, and exits
};

class LaunchWatch {
 public:
  explicit LaunchWatch(LaunchWatchOptions options) : options_(std::move(options)) {}
  ~LaunchWatch();
  LaunchWatch(const LaunchWatch&) = delete;
  LaunchWatch& operator=(const LaunchWatch&) = delete;

  /// Calls `launch`, which returns when the devices are done, under watch. kUnavailable (exit 69) names the member that
  /// is lost, kDeadlineExceeded (75) is a launch that took too long: both end the process.
  template <class Launch>
  auto during(std::int64_t step, const Launch& launch) {
    begin(step);
    auto result = launch();
    end();
    return result;
  }
  /// The launched program has failed, perhaps since a member is lost: waits until that is known, which ends the process
  /// with its name; returns if it isn't so.
  void failed();

 private:
  void begin(std::int64_t step);
  void end();
  struct Running {
    std::int64_t step = 0;
    Clock::time_point begun{};
  };
  bool stops();
  /// Waits for a launch, and then a moment; nullopt: it has ended by then.
  std::optional<Running> await_running();
  void watch();
  void give_up(const Running& launch, const Error& why);

  const LaunchWatchOptions options_;
  Mutex mutex_;
  std::condition_variable changed_;
  std::optional<Running> running_ TFD_GUARDED_BY(mutex_);
  bool stops_ TFD_GUARDED_BY(mutex_) = false;
  std::thread thread_;  // from the first launch on
};

}  // namespace tfd::strategy
