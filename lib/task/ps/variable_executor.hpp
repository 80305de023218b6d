#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// A few threads that work on variables: each variable has a queue, whose tasks run one at a time in FIFO order;
// different queues run concurrently. It doesn't know what tasks do. Thread rule: one thread (the endpoint's I/O thread)
// adds and asks, any other may stop it. Tasks run on the threads, which are started by the first one.
#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <memory>
#include <thread>
#include <vector>

#include "tfd/base/thread_annotations.hpp"

namespace tfd::task {

class VariableExecutor {
 public:
  /// Work of a request at each of its variables.
  class Task {
   public:
    virtual ~Task() = default;
    virtual void run(std::size_t part) = 0;
  };
  class Queue;
  struct Entry {
    std::shared_ptr<Queue> queue;
    std::shared_ptr<Task> task;  // shared with the entries of its other variables
    std::size_t part = 0;
  };

  /// One thread per core, at most four.
  static int default_threads();
  explicit VariableExecutor(int threads = default_threads());
  ~VariableExecutor() { stop(); }

  static std::shared_ptr<Queue> make_queue();
  /// True if nothing in this queue waits or runs; effects of finished tasks are visible to the caller.
  bool is_idle(const Queue& queue) const;
  /// The same for all queues.
  bool is_idle() const { return unfinished_.load(std::memory_order_acquire) == 0; }
  /// Adds entries atomically; after stop() they are dropped.
  void add(std::vector<Entry> entries);
  /// Waits for running tasks and drops the others. Not callable from its own threads.
  void stop();

 private:
  void work();

  const std::size_t most_threads_;
  std::atomic<std::size_t> unfinished_{0};

  mutable Mutex mutex_;  // also guards every queue
  std::condition_variable wake_;
  std::deque<std::shared_ptr<Queue>> ready_ TFD_GUARDED_BY(mutex_);  // queues with tasks on which no thread works
  std::vector<std::thread> threads_ TFD_GUARDED_BY(mutex_);
  std::size_t idle_ TFD_GUARDED_BY(mutex_) = 0;  // idle or starting threads
  bool stopping_ TFD_GUARDED_BY(mutex_) = false;
};

}  // namespace tfd::task
