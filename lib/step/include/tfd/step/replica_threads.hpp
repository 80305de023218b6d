#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Threads on which the replicas of a process run concurrently. Thread rule: one thread calls.
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <thread>
#include <vector>

namespace tfd::step {

/// Runs work(0) … work(count - 1), each once, all concurrently. Returns when all are done.
using RunAtOnce = std::function<void(std::size_t count, const std::function<void(std::size_t)>& work)>;

/// Threads for replicas besides the caller's own, started by the first step that needs them. Whichever thread is awake
/// takes the next replica.
class ReplicaThreads {
 public:
  /// `is_alone`: no other process of the training is on this host. Then threads, if each has a CPU of its own, spin for
  /// a moment before they sleep: waking one takes as long as a short step.
  ReplicaThreads(int replicas, bool is_alone);
  ~ReplicaThreads();
  ReplicaThreads(const ReplicaThreads&) = delete;
  ReplicaThreads& operator=(const ReplicaThreads&) = delete;

  /// Runs work(0) … work(count - 1), each once, concurrently if count <= replicas. Returns when all are done.
  void run(std::size_t count, const std::function<void(std::size_t)>& work);

 private:
  void help();

  const std::size_t most_;
  const bool looks_out_;
  const std::function<void(std::size_t)>* work_ = nullptr;  // with count_: read by threads that took an item of left_
  std::size_t count_ = 0;
  std::atomic<std::uint32_t> left_{0};    // items that no thread has taken yet
  std::atomic<std::uint32_t> undone_{0};  // items that aren't finished yet
  std::vector<std::jthread> threads_;     // most_ - 1, once they are needed
};

}  // namespace tfd::step
