#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// The current activity of a task's executor, for status requests: readable while it is busy or waits. Thread rule:
// thread-safe; begin(), end() and Waiting by the executor, fill() by anybody.
//
//   activity.begin("worker_fn");
//   { const Activity::Waiting waiting(&activity, group);  group->wait(stop); }
//   activity.end();
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "tfd/base/deadline.hpp"
#include "tfd/base/thread_annotations.hpp"
#include "tfd/task/task_client.hpp"

namespace tfd::task {

/// A wait for other tasks.
class Waits {
 public:
  virtual ~Waits() = default;
  /// Names of the tasks that haven't answered yet.
  virtual std::vector<std::string> missing() const = 0;
};

class Activity {
 public:
  /// Begins work on `what`: the function's name, or "(the program)" and the like.
  void begin(std::string_view what);
  void end();
  /// Sets the names of the engine's devices, once there is an engine.
  void set_devices(std::vector<std::string> devices);
  void set_program(std::string_view path);
  /// Fills in doing, doing_ms, idle_ms, waits_for, devices, program.
  void fill(TaskStatus& status) const;

  /// Marks the executor as waiting for these tasks, until the end of the scope.
  class Waiting {
   public:
    Waiting(Activity* activity, std::shared_ptr<const Waits> whom);  // activity may be null
    ~Waiting();
    Waiting(const Waiting&) = delete;
    Waiting& operator=(const Waiting&) = delete;

   private:
    Activity* activity_;
  };

 private:
  mutable Mutex mutex_;
  bool busy_ TFD_GUARDED_BY(mutex_) = false;
  std::string doing_ TFD_GUARDED_BY(mutex_);
  Clock::time_point since_ TFD_GUARDED_BY(mutex_) = Clock::now();  // start of the present work, or of being idle
  std::shared_ptr<const Waits> waits_ TFD_GUARDED_BY(mutex_);      // shared with the waiting executor
  std::vector<std::string> devices_ TFD_GUARDED_BY(mutex_);
  std::string program_ TFD_GUARDED_BY(mutex_);
};

}  // namespace tfd::task
