#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// A few threads that work on variables: each variable has a queue, what is in one queue is done in its order and one at
// a time, different queues at the same time. It doesn't know what is done.
// Thread rule: one thread (the endpoint's I/O thread) adds and asks, any other may stop it. Tasks run on the threads,
// which are started by the first one.
#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

namespace tfd::task {

class VariableExecutor {
 public:
  /// What a request does at each of its variables.
  class Task {
   public:
    virtual ~Task() = default;
    virtual void run(std::size_t part) = 0;
  };
  class Queue;
  struct Entry {
    std::shared_ptr<Queue> queue;
    std::shared_ptr<Task> task;  // with those of its other variables
    std::size_t part = 0;
  };

  /// As many as there are cores, at most four.
  static int default_threads();
  explicit VariableExecutor(int threads = default_threads());
  ~VariableExecutor() { stop(); }

  static std::shared_ptr<Queue> make_queue();
  /// Nothing of this queue waits or runs; what ran is seen by who asks.
  bool is_idle(const Queue& queue) const;
  /// The same of all of them.
  bool is_idle() const { return unfinished_.load(std::memory_order_acquire) == 0; }
  /// All at once. Once it was stopped they are dropped.
  void add(std::vector<Entry> entries);
  /// Waits for what runs; what hasn't begun is dropped. Not for its own threads.
  void stop();

 private:
  void work();

  const std::size_t most_threads_;
  std::atomic<std::size_t> unfinished_{0};

  mutable std::mutex mutex_;  // of what follows, and of every queue
  std::condition_variable wake_;
  std::deque<std::shared_ptr<Queue>> ready_;  // has something, and nobody is at it
  std::vector<std::thread> threads_;
  std::size_t idle_ = 0;  // threads that have nothing to do, or begin
  bool stopping_ = false;
};

}  // namespace tfd::task
