// SPDX-License-Identifier: Apache-2.0
#include "split_provider.hpp"

#include <algorithm>

#include "tfd/data/distribute.hpp"

namespace tfd::strategy {
namespace {

constexpr const char* kSteps = "steps";  // the queue
// Lease size. Elements prefetched for a step are this worker's own, except for the last of a lease.
constexpr std::uint32_t kMost = 64;
constexpr std::int64_t kSettleStep = 1024;
constexpr Duration kSplitAnswer = std::chrono::seconds(10);

}  // namespace

bool is_sharded_dynamically(const program::Program& program) {
  bool has_data = false;
  for (const auto& input : program.find_function(program.train->function)->inputs) {
    if (input.kind != program::InputKind::kDataset) continue;
    const data::Plan& plan = program.datasets.at(input.name);
    if (!data::is_dynamic(plan) && data::policy_of(plan) != data::AutoShardPolicy::kAuto) return false;
    has_data = true;
  }
  return has_data;
}

Result<std::optional<std::int64_t>> SplitProvider::next(task::ParameterServers& servers, Deadline deadline,
                                                        const std::stop_token& stop) {
  if (left_ > 0) return next_;
  if (is_over_) return std::nullopt;
  auto taken = TFD_TRY(servers.coordination().take_numbers(request(servers, kMost), deadline, stop));
  settle(servers, taken.settled);
  next_ = part_.first + taken.first;
  left_ = taken.count;
  is_over_ = taken.is_over;
  waits_for_ = std::move(taken.held_by);
  return left_ > 0 ? std::optional(next_) : std::nullopt;
}

void SplitProvider::leave(task::ParameterServers& servers) {
  (void)servers.coordination().take_numbers(request(servers, 0), Deadline::after(kSplitAnswer));
  left_ = 0;
}

task::TakeNumbers SplitProvider::request(task::ParameterServers& servers, std::uint32_t most) const {
  task::TakeNumbers take{.queue = kSteps, .client = servers.endpoint().incarnation(), .name = part_.name};
  if (part_.end) take.end = std::max<std::int64_t>(*part_.end - part_.first, 0);
  take.most = most;
  take.sharers = static_cast<std::uint32_t>(std::max(part_.workers, 1));
  take.has_all = servers.size() == 1;
  return take;
}

// Settles numbers on the other parameter servers, which don't get a part of every update, so that their history stays
// small. The first one gets all.
void SplitProvider::settle(task::ParameterServers& servers, std::int64_t below) {
  if (below - settled_ < kSettleStep) return;
  settled_ = below;
  for (std::size_t i = 1; i < servers.size(); ++i) {
    task::ServerClient& task = servers.task(i);
    task.settle(task.epoch(), static_cast<std::uint64_t>(below), 0, Deadline::after(kSplitAnswer),
                [](const Result<void>&) {});
  }
}

void SplitProvider::end_at(std::int64_t step) {
  part_.end = std::min(part_.end.value_or(step), step);
  left_ = 0;
}

}  // namespace tfd::strategy
