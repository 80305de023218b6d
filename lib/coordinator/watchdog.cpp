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

void Coordinator::watch() {
  std::string stall;
  {
    const MutexLock lock(state_.mutex);
    const bool is_waiting = !state_.fatal && (!state_.closures.idle() || state_.evaluations.current() != nullptr);
    if (const auto stalled = state_.stall.look(is_waiting, Clock::now()))
      stall = fmt::format("nothing has finished for {}: waiting for {}", format_duration(*stalled), state_.describe());
  }
  if (!stall.empty()) state_.options.log.warning("{}", stall);
  if (state_.options.commands) worker_links_.renew_sessions();
  server_links_.settle();
  const Duration interval = std::min(kWatchInterval, state_.options.stall_after);
  state_.endpoint->post_at(Clock::now() + std::chrono::duration_cast<Clock::duration>(interval), [this] { watch(); });
}

}  // namespace tfd::coordinator
