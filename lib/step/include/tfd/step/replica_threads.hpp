#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Threads for what the replicas of a process do at the same time. Thread rule: one thread calls.
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <thread>
#include <vector>

namespace tfd::step {

/// work(0) … work(count - 1), each once, and all of them at the same time. Returns when all are done.
using RunAtOnce = std::function<void(std::size_t count, const std::function<void(std::size_t)>& work)>;

/// The threads that replicas run on beside the caller's own; they are started by the first step that needs them.
/// Whoever is awake takes the next replica.
class ReplicaThreads {
 public:
  /// `is_alone`: no other process of the training is on this host. Then, where each has a CPU of its own, they look out
  /// for the next step for a moment before they sleep: waking one up takes as long as a short step.
  ReplicaThreads(int replicas, bool is_alone);
  ~ReplicaThreads();
  ReplicaThreads(const ReplicaThreads&) = delete;
  ReplicaThreads& operator=(const ReplicaThreads&) = delete;

  /// work(0) … work(count - 1), each once, and at the same time as far as count <= replicas. Returns when all are done.
  void run(std::size_t count, const std::function<void(std::size_t)>& work);

 private:
  void help();

  const std::size_t most_;
  const bool looks_out_;
  const std::function<void(std::size_t)>* work_ = nullptr;  // with count_, of whoever took one of what is left_
  std::size_t count_ = 0;
  std::atomic<std::uint32_t> left_{0};    // that nobody has taken yet
  std::atomic<std::uint32_t> undone_{0};  // that somebody may be at
  std::vector<std::jthread> threads_;     // most_ - 1, once they are needed
};

}  // namespace tfd::step
