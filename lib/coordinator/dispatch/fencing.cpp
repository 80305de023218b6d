// SPDX-License-Identifier: Apache-2.0
//
// Fencing and settling, after a closure has failed or sequence numbers are over: workers drop closures that haven't
// started, parameter servers reject late updates. Everything here runs on the endpoint's I/O thread.
#include "coordinator.hpp"

namespace tfd::coordinator {
namespace {

constexpr Duration kFencePause = std::chrono::seconds(1);  // until a request to a parameter server is repeated
constexpr std::uint64_t kSettleStep = 128;                 // sequence numbers per message

}  // namespace

void Coordinator::send_fences_and_drops() {
  std::vector<std::uint64_t> sequences;
  std::vector<variable::Attempt> aborts;
  std::vector<task::WorkerClient*> workers;
  ClosureTable::DropBelow below{};
  {
    const MutexLock lock(mutex_);
    sequences = closures_.take_fences();
    aborts = closures_.take_aborts();
    if (const auto drop = closures_.take_drop(); drop && !sessions_) {
      below = *drop;
      for (const Worker& worker : workers_)
        if (!worker.held().empty()) workers.push_back(&worker.client());
    }
  }
  for (task::WorkerClient* worker : workers)
    worker->drop_waiting(epoch_, below.updates, below.others, Deadline::never(),
                         [](const Result<void>&) {});  // dropped ones are answered themselves; a lost worker has none
  for (const std::uint64_t sequence : sequences)
    for (std::size_t i = 0; i < servers_.size(); ++i) send_fence(i, sequence);
  for (const variable::Attempt& attempt : aborts)
    for (std::size_t i = 0; i < servers_.size(); ++i) send_abort(i, attempt);
}

void Coordinator::send_fence(std::size_t server, std::uint64_t sequence) {
  ps_->task(server).fence(epoch_, sequence, Deadline::never(), [this, server, sequence](const Result<void>& answer) {
    fence_answered(server, sequence, answer);
  });
}

// A late update is rejected only by servers that have acknowledged the fence. One that can't be reached is asked again;
// server_event() handles the case that it doesn't return.
void Coordinator::fence_answered(std::size_t server, std::uint64_t sequence, const Result<void>& answer) {
  bool tries_again = false;
  {
    const MutexLock lock(mutex_);
    using Fence = ServerHealth::Fence;
    const Fence fence = fatal_ || closing_ ? Fence::kAcknowledged : health_.judge(answer, servers_[server].name);
    if (!answer && answer.error().code == Code::kPermissionDenied) fenced_ = true;
    if (fence == Fence::kAcknowledged || fence == Fence::kRefused) {
      closures_.fence_acknowledged();
      return announce_idle();
    }
    tries_again = fence == Fence::kRetry;
  }
  if (!tries_again) return server_lost(servers_[server], answer.error().message);
  options_.log.info("{}: {}; trying again", servers_[server].name, answer.error().message);
  endpoint_->post_at(Clock::now() + std::chrono::duration_cast<Clock::duration>(kFencePause),
                     [this, server, sequence] { send_fence(server, sequence); });
}

// Settles numbers: a function may update only some of the parameter servers, and others would remember a gap for each
// of its calls.
void Coordinator::settle() {
  ClosureTable::Over over{};
  {
    const MutexLock lock(mutex_);
    over = closures_.over();
    if (fatal_ || closing_ || over.below - settled_ < kSettleStep) return;
  }
  settled_ = over.below;
  for (std::size_t i = 0; i < servers_.size(); ++i)
    ps_->task(i).settle(epoch_, over.below, over.unused, Deadline::after(kFencePause * 10), [](const Result<void>&) {});
}

}  // namespace tfd::coordinator
