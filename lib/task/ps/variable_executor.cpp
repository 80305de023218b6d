// SPDX-License-Identifier: Apache-2.0
#include "variable_executor.hpp"

#include <algorithm>

namespace tfd::task {

class VariableExecutor::Queue {
 public:
  struct Waiting {
    std::shared_ptr<Task> task;
    std::size_t part = 0;
  };
  std::deque<Waiting> waiting;
  bool is_taken = false;  // it is in ready_, or a thread works on it
};

int VariableExecutor::default_threads() {
  return static_cast<int>(std::clamp(std::thread::hardware_concurrency(), 1U, 4U));
}

VariableExecutor::VariableExecutor(int threads) : most_threads_(static_cast<std::size_t>(std::max(threads, 1))) {}

std::shared_ptr<VariableExecutor::Queue> VariableExecutor::make_queue() { return std::make_shared<Queue>(); }

bool VariableExecutor::is_idle(const Queue& queue) const {
  if (is_idle()) return true;
  const MutexLock lock(mutex_);
  return !queue.is_taken;
}

void VariableExecutor::add(std::vector<Entry> entries) {
  const bool is_one = entries.size() == 1;
  {
    const MutexLock lock(mutex_);
    if (stopping_) return;  // `entries` are destroyed after the lock
    unfinished_.fetch_add(entries.size(), std::memory_order_relaxed);
    for (Entry& entry : entries) {
      Queue& queue = *entry.queue;
      queue.waiting.push_back({std::move(entry.task), entry.part});
      if (queue.is_taken) continue;
      queue.is_taken = true;
      ready_.push_back(std::move(entry.queue));
    }
    while (threads_.size() < most_threads_ && idle_ < ready_.size()) {
      threads_.emplace_back([this] { work(); });
      ++idle_;
    }
  }
  is_one ? wake_.notify_one() : wake_.notify_all();
}

void VariableExecutor::work() {
  MutexLock lock(mutex_);
  for (;;) {
    lock.wait(wake_, Deadline::never(), [this]() TFD_REQUIRES(mutex_) { return stopping_ || !ready_.empty(); });
    if (stopping_) return;
    --idle_;
    const std::shared_ptr<Queue> queue = std::move(ready_.front());
    ready_.pop_front();
    Queue::Waiting next = std::move(queue->waiting.front());
    queue->waiting.pop_front();
    lock.unlock();
    next.task->run(next.part);
    next.task.reset();
    lock.lock();
    if (queue->waiting.empty())
      queue->is_taken = false;
    else
      ready_.push_back(queue);
    unfinished_.fetch_sub(1, std::memory_order_release);
    ++idle_;
  }
}

void VariableExecutor::stop() {
  std::vector<std::thread> threads;
  {
    const MutexLock lock(mutex_);
    stopping_ = true;
    threads.swap(threads_);
  }
  wake_.notify_all();
  for (std::thread& thread : threads) thread.join();
  std::deque<std::shared_ptr<Queue>> dropped;
  {
    const MutexLock lock(mutex_);
    dropped.swap(ready_);
  }
  for (const auto& queue : dropped) queue->waiting.clear();
}

}  // namespace tfd::task
