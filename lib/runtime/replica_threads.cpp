// SPDX-License-Identifier: Apache-2.0
#include "tfd/runtime/replica_threads.hpp"

#include <limits>

namespace tfd::runtime {
namespace {

constexpr std::uint32_t kEnd = std::numeric_limits<std::uint32_t>::max();  // in place of what is left

}  // namespace

ReplicaThreads::~ReplicaThreads() {
  left_ = kEnd;
  left_.notify_all();
}

// Nothing here needs to know which step it is: who takes one of what is left has the work of that step until it is
// done, for run() waits for that. Sequentially consistent throughout, as wait() and notify() need it between the number
// and whether somebody sleeps.
void ReplicaThreads::help() {
  for (std::uint32_t left = left_; left != 0 && left != kEnd;) {
    if (!left_.compare_exchange_weak(left, left - 1)) continue;
    (*work_)(count_ - left);
    if (undone_.fetch_sub(1) == 1) undone_.notify_one();
    left = left_;
  }
}

void ReplicaThreads::run(std::size_t count, const std::function<void(std::size_t)>& work) {
  if (count == 1) return work(0);
  while (threads_.size() + 1 < most_)
    threads_.emplace_back([this] {
      for (; left_ != kEnd; left_.wait(0)) help();
    });
  work_ = &work;
  count_ = count;
  undone_ = static_cast<std::uint32_t>(count);
  left_ = static_cast<std::uint32_t>(count);
  left_.notify_all();
  help();
  for (std::uint32_t undone = undone_; undone != 0; undone = undone_) undone_.wait(undone);
}

}  // namespace tfd::runtime
