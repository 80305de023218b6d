// SPDX-License-Identifier: Apache-2.0
#include "launch_watch.hpp"

#include <cstdio>
#include <cstdlib>

#include "tfd/base/exit_code.hpp"
#include "tfd/base/units.hpp"

namespace tfd::strategy {
namespace {

constexpr Duration kWatchEvery = std::chrono::milliseconds(100);
constexpr Duration kFailureGrace = std::chrono::seconds(5);  // for the loss of a member, which may be known later
constexpr Duration kLostGrace = std::chrono::seconds(1);     // for a launch whose peer ended after all devices had met

std::string time_since(Clock::time_point since) { return rounded_duration(Clock::now() - since); }

}  // namespace

LaunchWatch::~LaunchWatch() {
  {
    const MutexLock lock(mutex_);
    stops_ = true;
    changed_.notify_all();
  }
  if (thread_.joinable()) thread_.join();
}

void LaunchWatch::begin(std::int64_t step) {
  if (!thread_.joinable()) thread_ = std::thread([this] { watch(); });
  const MutexLock lock(mutex_);
  running_ = {step, Clock::now()};
  changed_.notify_all();
}

void LaunchWatch::failed() {
  MutexLock lock(mutex_);
  lock.wait(changed_, Deadline::after(kFailureGrace), [this]() TFD_REQUIRES(mutex_) { return stops_; });
}

void LaunchWatch::end() {
  const MutexLock lock(mutex_);
  running_.reset();
}

std::optional<LaunchWatch::Running> LaunchWatch::await_running() {
  MutexLock lock(mutex_);
  lock.wait(changed_, Deadline::never(), [this]() TFD_REQUIRES(mutex_) { return stops_ || running_; });
  lock.wait(changed_, Deadline::after(kWatchEvery), [this]() TFD_REQUIRES(mutex_) { return stops_; });
  return stops_ ? std::nullopt : running_;
}

bool LaunchWatch::stops() {
  const MutexLock lock(mutex_);
  return stops_;
}

void LaunchWatch::watch() {
  std::optional<Running> last;
  Deadline grace = Deadline::never(), report = Deadline::never();  // of a lost member; of a long wait
  while (!stops()) {
    const auto now = await_running();
    if (!now) continue;
    if (!last || last->begun != now->begun) {
      last = now;
      grace = Deadline::never();
      report = Deadline::after(options_.stall_report);
    }
    const auto lost = options_.find_lost();
    grace = lost ? grace.earlier_of(Deadline::after(kLostGrace)) : Deadline::never();
    if (grace.expired())
      give_up(*now, {Code::kUnavailable,
                     fmt::format("step {} can't end without {}: {}; work on devices can't be canceled, so this "
                                 "process ends; the same command goes on from the newest checkpoint",
                                 now->step, lost->task, lost->message),
                     lost->task});
    if (Clock::now() - now->begun >= options_.timeout)
      give_up(*now, {Code::kDeadlineExceeded,
                     fmt::format("step {} hasn't ended on the devices after {}, though all members answer; work on "
                                 "devices can't be canceled, so this process ends",
                                 now->step, time_since(now->begun)),
                     {}});
    if (!report.expired()) continue;
    if (options_.say)
      options_.say(
          fmt::format("step {} has been on the devices for {}; all members answer", now->step, time_since(now->begun)));
    report = Deadline::after(3 * options_.stall_report);
  }
}

// The second place where a process ends because of its devices (function/pjrt/buffer.hpp has the other): its main
// thread is in the plug-in, and won't return.
void LaunchWatch::give_up(const Running& launch, const Error& why) {
  {
    const MutexLock lock(mutex_);
    if (!running_ || running_->begun != launch.begun) return;  // it has ended meanwhile
  }
  if (options_.end_process) return options_.end_process(why);
  std::fputs(fmt::format("tfd: {}\n", why.message).c_str(), stderr);
  std::_Exit(number_of(why.code == Code::kUnavailable ? ExitCode::kUnavailable : ExitCode::kTryAgain));
}

}  // namespace tfd::strategy
