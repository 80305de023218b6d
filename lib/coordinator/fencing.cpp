// SPDX-License-Identifier: Apache-2.0
//
// What is left to do when a closure has failed, or when numbers of updates are over: workers drop what they haven't
// begun, parameter servers keep late updates out. Everything here runs on the endpoint's I/O thread.
#include "coordinator.hpp"

namespace tfd::coordinator {
namespace {

constexpr Duration kFencePause = std::chrono::seconds(1);  // until a parameter server is asked again
constexpr std::uint64_t kSettleStep = 128;                 // numbers that end between two messages about them

}  // namespace

void Coordinator::send_fences_and_drops() {
  std::vector<std::uint64_t> sequences;
  std::vector<task::WorkerClient*> workers;
  ClosureTable::DropBelow below{};
  {
    const Lock lock(mutex_);
    sequences = closures_.take_fences();
    if (const auto drop = closures_.take_drop(); drop && !options_.commands) {
      below = *drop;
      for (const Worker& worker : workers_)
        if (!worker.held().empty()) workers.push_back(worker.client.get());
    }
  }
  for (task::WorkerClient* worker : workers)
    worker->drop_waiting(epoch_, below.updates, below.others, Deadline::never(),
                         [](const Result<void>&) {});  // what it drops says so; one that is lost holds nothing
  for (const std::uint64_t sequence : sequences)
    for (std::size_t i = 0; i < servers_.size(); ++i) send_fence(i, sequence);
}

void Coordinator::send_fence(std::size_t server, std::uint64_t sequence) {
  ps_->task(server).fence(epoch_, sequence, Deadline::never(), [this, server, sequence](const Result<void>& answer) {
    fence_answered(server, sequence, answer);
  });
}

// Only who has put up the fence keeps a late update out. One that belongs to a newer coordinator by now takes none of
// ours anyway; one that can't be reached is lost, or (as TensorFlow has it) gets its chances.
void Coordinator::fence_answered(std::size_t server, std::uint64_t sequence, const Result<void>& answer) {
  bool tries_again = false;
  {
    const Lock lock(mutex_);
    if (answer || fatal_ || closing_ || answer.error().code == Code::kPermissionDenied) {
      if (!answer && answer.error().code == Code::kPermissionDenied) fenced_ = true;
      closures_.fence_acknowledged();
      return announce_idle(lock);
    }
    Error error = answer.error();
    if (error.task.empty()) error.task = servers_[server].name;
    // One that is away may come back as it was; server_event() says when it doesn't.
    tries_again = transient_ ? transient_->pass(error) : error.code == Code::kUnavailable;
  }
  if (!tries_again) return server_lost(servers_[server], answer.error().message);
  options_.log.info("{}: {}; trying again", servers_[server].name, answer.error().message);
  endpoint_->post_at(Clock::now() + std::chrono::duration_cast<Clock::duration>(kFencePause),
                     [this, server, sequence] { send_fence(server, sequence); });
}

// A function may touch only some of the parameter servers: others would remember a hole for each of its calls.
void Coordinator::settle() {
  ClosureTable::Over over{};
  {
    const Lock lock(mutex_);
    over = closures_.over();
    if (fatal_ || closing_ || over.below - settled_ < kSettleStep) return;
  }
  settled_ = over.below;
  for (std::size_t i = 0; i < servers_.size(); ++i)
    ps_->task(i).settle(epoch_, over.below, over.unused, Deadline::after(kFencePause * 10), [](const Result<void>&) {});
}

}  // namespace tfd::coordinator
