// SPDX-License-Identifier: Apache-2.0
#include "workers/worker.hpp"

#include <cmath>

#include "tfd/cluster/task_id.hpp"
#include "tfd/data/dataset.hpp"

namespace tfd::coordinator {
namespace {

constexpr Duration kWindowWork = std::chrono::milliseconds(20);  // work that a worker should hold
constexpr Duration kWindowSlice = std::chrono::milliseconds(5);  // time over which its speed is measured

}  // namespace

void Window::answered(Clock::time_point now) {
  if (counted_++ == 0) {
    start_ = now;
    return;
  }
  const auto elapsed = now - start_;
  if (elapsed < kWindowSlice) return;
  const double per_closure = std::chrono::duration<double>(elapsed).count() / static_cast<double>(counted_ - 1);
  const double wanted = std::ceil(std::chrono::duration<double>(kWindowWork).count() / per_closure);
  size_ = std::clamp(wanted < static_cast<double>(most_) ? static_cast<std::size_t>(wanted) : most_,
                     std::min(least_, most_), most_);
  counted_ = 1;
  start_ = now;
}

std::uint64_t Worker::shuffle_stream() const {
  const auto task = cluster::parse_task(name_);
  return task ? data::shuffle_stream(static_cast<std::uint64_t>(task->index), 0, data_.returns) : 0;
}

}  // namespace tfd::coordinator
