// SPDX-License-Identifier: Apache-2.0
#include "workers/worker.hpp"

#include "tfd/cluster/task_id.hpp"
#include "tfd/data/dataset.hpp"

namespace tfd::coordinator {
namespace {

constexpr Duration kWindowWork = std::chrono::milliseconds(20);  // work that a worker should hold
constexpr int kAveraged = 8;                                     // about this many of the last closures

}  // namespace

void Window::ran(Duration one) {
  average_ = average_ == Duration::zero() ? one : average_ + (one - average_) / kAveraged;
  const auto each = std::max<Duration::rep>((average_ / static_cast<Duration::rep>(at_once_)).count(), 1);
  const auto wanted = static_cast<std::size_t>((kWindowWork.count() + each - 1) / each);
  if (known_ < kAveraged && ++known_ < kAveraged && wanted > size_) return;  // a few may have been short by chance
  size_ = std::clamp(wanted, std::min(least_, most_), most_);
}

std::uint64_t Worker::shuffle_stream() const {
  const auto task = cluster::parse_task(name_);
  return task ? data::shuffle_stream(static_cast<std::uint64_t>(task->index), 0, data_.returns) : 0;
}

}  // namespace tfd::coordinator
