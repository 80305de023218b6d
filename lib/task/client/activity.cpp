// SPDX-License-Identifier: Apache-2.0
#include "activity.hpp"

#include <utility>

#include "tfd/base/text.hpp"

namespace tfd::task {

void Activity::begin(std::string_view what) {
  const MutexLock lock(mutex_);
  busy_ = true;
  doing_ = what;
  since_ = Clock::now();
}

void Activity::end() {
  const MutexLock lock(mutex_);
  busy_ = false;
  since_ = Clock::now();
}

void Activity::set_devices(std::vector<std::string> devices) {
  const MutexLock lock(mutex_);
  devices_ = std::move(devices);
}

void Activity::set_program(std::string_view path) {
  const MutexLock lock(mutex_);
  program_ = path;
}

void Activity::fill(TaskStatus& status) const {
  std::shared_ptr<const Waits> waits;
  {
    const MutexLock lock(mutex_);
    status.devices = devices_;
    status.program = program_;
    const auto since_ms = std::chrono::duration_cast<std::chrono::milliseconds>(Clock::now() - since_).count();
    (busy_ ? status.doing_ms : status.idle_ms) = since_ms;
    if (busy_) {
      status.doing = doing_;
      waits = waits_;
    }
  }
  if (!status.doing.empty())
    status.waits_for = waits ? join_words(waits->missing()) : std::string();
  else
    status.waits_for = status.epoch == 0 ? "a coordinator" : "closures";
}

Activity::Waiting::Waiting(Activity* activity, std::shared_ptr<const Waits> whom) : activity_(activity) {
  if (activity_ == nullptr) return;
  const MutexLock lock(activity_->mutex_);
  activity_->waits_ = std::move(whom);
}

Activity::Waiting::~Waiting() {
  if (activity_ == nullptr) return;
  std::shared_ptr<const Waits> ended;  // destroyed without the lock
  const MutexLock lock(activity_->mutex_);
  ended.swap(activity_->waits_);
}

}  // namespace tfd::task
