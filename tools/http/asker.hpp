#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Asks tasks again and again how they are, for a page: about every second while somebody looks, seldom otherwise, and
// less often with more tasks. Thread rule: want() is for any thread; a thread of its own asks.
#include <atomic>
#include <condition_variable>
#include <functional>
#include <memory>
#include <thread>
#include <vector>

#include "status/ask.hpp"
#include "tfd/base/thread_annotations.hpp"

namespace tfd::http {

class Asker {
 public:
  using Tell = std::function<void(std::vector<status::TaskReport>)>;
  /// `tell` is called on the asker's thread. Errors of status::Tasks::connect().
  static Result<std::unique_ptr<Asker>> start(const cluster::ClusterSpec& spec,
                                              const transport::EndpointFactory& make_endpoint, Tell tell);
  /// Waits for no answer.
  ~Asker();
  Asker(const Asker&) = delete;
  Asker& operator=(const Asker&) = delete;

  /// Somebody looks.
  void want();

 private:
  Asker(status::Tasks tasks, int count, Tell tell);
  void run();
  Deadline next(Clock::time_point asked) TFD_REQUIRES(mutex_);

  status::Tasks tasks_;  // the asker's thread's, but for give_up()
  const int count_;
  const Tell tell_;
  Mutex mutex_;
  std::condition_variable changed_;
  bool is_over_ TFD_GUARDED_BY(mutex_) = false;
  Clock::time_point wanted_ TFD_GUARDED_BY(mutex_) = Clock::now();
  std::thread thread_;
};

}  // namespace tfd::http
