// SPDX-License-Identifier: Apache-2.0
//
// Describes who waits for whom, since when, for messages of timeouts, and for the stall report.
#include <algorithm>

#include "coordinator.hpp"
#include "tfd/base/counted.hpp"
#include "tfd/base/text.hpp"
#include "tfd/base/units.hpp"

namespace tfd::coordinator {
namespace {

constexpr Duration kWatchInterval = std::chrono::milliseconds(500);
constexpr std::size_t kMostNamed = 8;  // workers in a message

std::string ago(Clock::time_point since) {
  if (since == Clock::time_point{}) return "the start";
  const auto elapsed = std::chrono::duration_cast<std::chrono::seconds>(Clock::now() - since);
  return format_duration(elapsed);
}

std::string describe_worker(const Worker& worker, bool evaluates) {
  switch (worker.state()) {
    case WorkerState::kAway:
      return fmt::format("{} (away for {}: {})", worker.name, ago(worker.since), worker.reason);
    case WorkerState::kWaiting:
      return fmt::format("{} (up, waiting for the parameter servers)", worker.name);
    case WorkerState::kLoading:
      return fmt::format("{} ({} for {})", worker.name,
                         worker.occupied.empty() ? "loading the program" : worker.occupied, ago(worker.since));
    case WorkerState::kReady:
      break;
  }
  if (evaluates) return fmt::format("{} (evaluating, last answer {} ago)", worker.name, ago(worker.since));
  if (worker.held().empty()) return {};
  return fmt::format("{} (holds {}, last answer {} ago)", worker.name, counted(worker.held().size(), "closure"),
                     ago(worker.since));
}

}  // namespace

std::string Coordinator::describe(const Lock&) const {
  std::vector<std::string> parts;
  for (std::size_t i = 0; i < workers_.size(); ++i) {
    if (workers_[i].has_left) continue;
    std::string one = describe_worker(workers_[i], evaluation_ && evaluation_->runs_on(i));
    if (!one.empty()) parts.push_back(std::move(one));
  }
  if (parts.size() > kMostNamed) {
    const std::size_t others = parts.size() - kMostNamed;
    parts.resize(kMostNamed);
    parts.push_back(counted(others, "other"));
  }
  std::string text = parts.empty() ? "nobody" : join_words(parts);
  if (closures_.queued() > 0) text += fmt::format("; {} more queued", closures_.queued());
  return text;
}

void Coordinator::watch() {
  std::string stall;
  {
    const Lock lock(mutex_);
    const auto now = Clock::now();
    const bool waiting = !closures_.idle() || evaluation_ != nullptr;
    if (!waiting || progress_ != seen_progress_ || progress_at_ == Clock::time_point{}) {
      seen_progress_ = progress_;
      progress_at_ = now;
      stall_limit_ = options_.stall_after;
    } else if (now - progress_at_ >= stall_limit_ && !fatal_) {
      stall = fmt::format("nothing has finished for {}: waiting for {}", ago(progress_at_), describe(lock));
      stall_limit_ *= 2;  // reported at 10, 20, 40 … seconds
    }
  }
  if (!stall.empty()) options_.log.warning("{}", stall);
  if (options_.commands) renew_sessions();
  settle();
  const Duration interval = std::min(kWatchInterval, options_.stall_after);
  endpoint_->post_at(Clock::now() + std::chrono::duration_cast<Clock::duration>(interval), [this] { watch(); });
}

}  // namespace tfd::coordinator
