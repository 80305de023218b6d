// SPDX-License-Identifier: Apache-2.0
//
// Rebalancing. A worker holds more closures than it runs, so that it never idles. If these take long after all, and the
// queue is empty, it returns closures that haven't started, for idle workers. On the endpoint's I/O thread.
#include <algorithm>

#include "coordinator.hpp"

namespace tfd::coordinator {

void Coordinator::balance_soon() {
  {
    const MutexLock lock(mutex_);
    if (balance_is_due_ || closures_.queued() > 0 || closures_.in_flight() < 2 || closures_.has_error() || fatal_)
      return;
    balance_is_due_ = true;
  }
  endpoint_->post_at(Clock::now() + std::chrono::duration_cast<Clock::duration>(options_.balance_after),
                     [this] { balance(); });
}

void Coordinator::balance() {
  struct Ask {
    std::size_t worker;
    std::uint64_t generation;
    std::size_t count;
  };
  std::vector<Ask> asks;
  bool must_wait = false;
  {
    const MutexLock lock(mutex_);
    balance_is_due_ = false;
    if (fatal_ || closures_.queued() > 0 || closures_.has_error()) return;
    std::size_t idle = 0;
    for (std::size_t i = 0; i < workers_.size(); ++i)
      if (!evaluation_ || !evaluation_->runs_on(i)) idle += workers_.room_at(i);
    for (std::size_t i = 0; i < workers_.size() && idle > 0; ++i) {
      Worker& worker = workers_[i];
      const std::size_t runs = worker.window().at_once();
      if (!worker.is_ready() || worker.gives_back || worker.held().size() <= runs) continue;
      if (Clock::now() - worker.since < options_.balance_after) {
        must_wait = true;
        continue;
      }
      const std::size_t waiting = worker.held().size() - runs;
      const std::size_t count = waiting - waiting / (idle + 1);  // equal shares
      idle -= std::min(idle, count);
      worker.gives_back = true;
      asks.push_back({i, worker.generation, count});
    }
  }
  for (const Ask& ask : asks)
    client_of(ask.worker)
        .give_back(epoch_, ask.count, sessions_.has_value(), Deadline::never(), [this, ask](const Result<void>&) {
          const MutexLock lock(mutex_);  // returned closures are answered themselves; a lost worker holds none
          if (workers_[ask.worker].generation == ask.generation) workers_[ask.worker].gives_back = false;
        });
  if (must_wait) balance_soon();
}

}  // namespace tfd::coordinator
