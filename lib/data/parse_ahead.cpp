// SPDX-License-Identifier: Apache-2.0
#include "parse_ahead.hpp"

#include <algorithm>

#include "tfd/base/cpus.hpp"

namespace tfd::data {
namespace {

constexpr std::size_t kStepsBeforeThreads = 2;  // small files aren't worth any

std::size_t bytes_of(const Step& step) { return step.piece ? step.piece->end : 0; }

}  // namespace

std::size_t Parsing::default_threads() {
  const auto processors = static_cast<std::size_t>(usable_cpus());
  return processors < 2 ? 0 : std::min<std::size_t>(processors, 8);
}

Step ParseAhead::next() {
  if (parsing_.threads == 0 || begun_ < kStepsBeforeThreads) {
    ++begun_;
    Step step = pieces_.next();
    parse_(step);
    return step;
  }
  if (threads_.empty()) start();
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return !slots_.empty() && slots_.front().step; });
  Step step = *std::move(slots_.front().step);
  bytes_ahead_ -= slots_.front().bytes;
  slots_.pop_front();
  ++taken_;
  lock.unlock();
  changed_.notify_all();
  return step;
}

void ParseAhead::start() {
  for (std::size_t i = 0; i < parsing_.threads; ++i) threads_.emplace_back([this] { work(); });
}

void ParseAhead::work() {
  while (true) {
    std::unique_lock reading(reading_);
    if (is_over_) return;
    const auto slot = wait_for_room();
    if (!slot) return;
    Step step = pieces_.next();
    is_over_ = step.is_last || step.error;
    {
      const std::lock_guard lock(mutex_);
      bytes_ahead_ += slots_[*slot - taken_].bytes = bytes_of(step);
    }
    reading.unlock();
    parse_(step);
    {
      const std::lock_guard lock(mutex_);
      slots_[*slot - taken_].step = std::move(step);
    }
    changed_.notify_all();
  }
}

std::optional<std::size_t> ParseAhead::wait_for_room() {
  const std::stop_token stop = stop_.get_token();
  const std::size_t most = 2 * parsing_.threads + 2;
  std::unique_lock lock(mutex_);
  const auto has_room = [&] { return slots_.empty() || (slots_.size() < most && bytes_ahead_ < parsing_.ahead_bytes); };
  if (!changed_.wait(lock, stop, has_room) || stop.stop_requested()) return std::nullopt;
  slots_.emplace_back();
  return taken_ + slots_.size() - 1;
}

}  // namespace tfd::data
