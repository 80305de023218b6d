#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// What a task's executor is doing right now, for whoever asks how it is: read while it is busy, or waits.
// Thread rule: thread-safe; begin(), end() and Waiting by the executor, fill() by anybody.
//
//   activity.begin("worker_fn");
//   { const Activity::Waiting waiting(&activity, group);  group->wait(stop); }
//   activity.end();
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "tfd/base/deadline.hpp"
#include "tfd/task/task_client.hpp"

namespace tfd::task {

/// Tasks that somebody waits for.
class Waits {
 public:
  virtual ~Waits() = default;
  /// Those that haven't answered yet.
  virtual std::vector<std::string> missing() const = 0;
};

class Activity {
 public:
  /// The function it runs, or "(the program)" and so on where it is something else.
  void begin(std::string_view what);
  void end();
  /// Of an engine, once there is one.
  void set_devices(std::vector<std::string> devices);
  void set_program(std::string_view path);
  /// doing, doing_ms, idle_ms, waits_for, devices, program.
  void fill(TaskStatus& status) const;

  /// From here to the end of the scope it waits for these.
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
  mutable std::mutex mutex_;
  bool busy_ = false;
  std::string doing_;
  Clock::time_point since_ = Clock::now();  // of what it does, or of having nothing to do
  std::shared_ptr<const Waits> waits_;      // with the executor that waits
  std::vector<std::string> devices_;
  std::string program_;
};

}  // namespace tfd::task
