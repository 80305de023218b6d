// SPDX-License-Identifier: Apache-2.0
//
// Fencing and settling, after a closure has failed or sequence numbers are over: parameter servers reject late updates.
// Everything here runs on the endpoint's I/O thread.
#include "servers/server_links.hpp"

namespace tfd::coordinator {
namespace {

constexpr Duration kFencePause = std::chrono::seconds(1);  // until a request to a parameter server is repeated
constexpr std::uint64_t kSettleStep = 128;                 // sequence numbers per message

}  // namespace

void ServerLinks::send_fences(const std::vector<std::uint64_t>& sequences,
                              const std::vector<variable::Attempt>& aborts) {
  for (const std::uint64_t sequence : sequences)
    for (std::size_t i = 0; i < state_.servers.size(); ++i) send_fence(i, sequence);
  for (const variable::Attempt& attempt : aborts)
    for (std::size_t i = 0; i < state_.servers.size(); ++i) send_abort(i, attempt);
}

void ServerLinks::send_fence(std::size_t server, std::uint64_t sequence) {
  ps_->task(server).fence(
      state_.epoch, sequence, Deadline::never(),
      [this, server, sequence](const Result<void>& answer) { fence_answered(server, sequence, answer); });
}

// A late update is rejected only by servers that have acknowledged the fence. One that can't be reached is asked again;
// on_event() handles the case that it doesn't return.
void ServerLinks::fence_answered(std::size_t server, std::uint64_t sequence, const Result<void>& answer) {
  bool tries_again = false;
  {
    const MutexLock lock(state_.mutex);
    using Fence = ServerHealth::Fence;
    const Fence fence = state_.fatal || state_.closing ? Fence::kAcknowledged
                                                       : state_.health.judge(answer, state_.servers[server].name);
    if (!answer && answer.error().code == Code::kPermissionDenied) state_.fenced = true;
    if (fence == Fence::kAcknowledged || fence == Fence::kRefused) {
      state_.closures.fence_acknowledged();
      return state_.announce_idle();
    }
    tries_again = fence == Fence::kRetry;
  }
  if (!tries_again) return lose(server, answer.error().message);
  state_.options.log.info("{}: {}; trying again", state_.servers[server].name, answer.error().message);
  state_.endpoint->post_at(Clock::now() + std::chrono::duration_cast<Clock::duration>(kFencePause),
                           [this, server, sequence] { send_fence(server, sequence); });
}

// Settles numbers: a function may update only some of the parameter servers, and others would remember a gap for each
// of its calls.
void ServerLinks::settle() {
  ClosureTable::Over over{};
  {
    const MutexLock lock(state_.mutex);
    over = state_.closures.over();
    if (state_.fatal || state_.closing || over.below - settled_ < kSettleStep) return;
  }
  settled_ = over.below;
  for (std::size_t i = 0; i < state_.servers.size(); ++i)
    ps_->task(i).settle(state_.epoch, over.below, over.unused, Deadline::after(kFencePause * 10),
                        [](const Result<void>&) {});
}

}  // namespace tfd::coordinator
