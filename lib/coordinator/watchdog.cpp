// SPDX-License-Identifier: Apache-2.0
//
// Regular work on the endpoint's I/O thread: reports of stalls, leases of command sessions, settled sequence numbers.
#include <algorithm>

#include "coordinator.hpp"
#include "tfd/base/units.hpp"

namespace tfd::coordinator {
namespace {

constexpr Duration kWatchInterval = std::chrono::milliseconds(500);

}  // namespace

std::string Coordinator::describe() const {
  std::vector<AwayServer> away;
  for (std::size_t i = 0; i < servers_.size(); ++i)
    if (const auto since = health_.away_since(i)) away.push_back({servers_[i].name, *since});
  return describe_waiting(workers_, evaluations_.current(), closures_.queued(), Clock::now(), away);
}

void Coordinator::watch() {
  std::string stall;
  {
    const MutexLock lock(mutex_);
    const bool is_waiting = !fatal_ && (!closures_.idle() || evaluations_.current() != nullptr);
    if (const auto stalled = stall_.look(is_waiting, Clock::now()))
      stall = fmt::format("nothing has finished for {}: waiting for {}", format_duration(*stalled), describe());
  }
  if (!stall.empty()) options_.log.warning("{}", stall);
  if (sessions_) renew_sessions();
  settle();
  const Duration interval = std::min(kWatchInterval, options_.stall_after);
  endpoint_->post_at(Clock::now() + std::chrono::duration_cast<Clock::duration>(interval), [this] { watch(); });
}

}  // namespace tfd::coordinator
