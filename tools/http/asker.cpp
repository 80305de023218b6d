// SPDX-License-Identifier: Apache-2.0
#include "asker.hpp"

#include <pthread.h>

#include <algorithm>
#include <csignal>

namespace tfd::http {
namespace {

constexpr Duration kPatience = std::chrono::seconds(2);
constexpr Duration kLeast = std::chrono::seconds(1);           // between two questions, while somebody looks
constexpr Duration kEachTask = std::chrono::milliseconds(10);  // that many more for each task
constexpr Duration kInterest = std::chrono::seconds(90);       // a page read this recently is read again
constexpr int kSeldom = 10;                                    // times as long, while nobody looks

}  // namespace

Result<std::unique_ptr<Asker>> Asker::start(const cluster::ClusterSpec& spec,
                                            const transport::EndpointFactory& make_endpoint, Tell tell) {
  auto tasks = TFD_TRY(status::Tasks::connect(spec, make_endpoint, {}));
  return std::unique_ptr<Asker>(new Asker(std::move(tasks), spec.size(), std::move(tell)));
}

Asker::Asker(status::Tasks tasks, int count, Tell tell)
    : tasks_(std::move(tasks)), count_(count), tell_(std::move(tell)) {
  sigset_t all, before;  // signals are for the tool's own threads
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  thread_ = std::thread([this] { run(); });
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

Asker::~Asker() {
  {
    const MutexLock lock(mutex_);
    is_over_ = true;
  }
  changed_.notify_all();
  tasks_.give_up();
  thread_.join();
}

void Asker::want() {
  const MutexLock lock(mutex_);
  wanted_ = Clock::now();
  changed_.notify_all();
}

Deadline Asker::next(Clock::time_point asked) {
  const Duration pause = std::max<Duration>(kLeast, count_ * kEachTask);
  return Deadline::at(asked + (Clock::now() - wanted_ < kInterest ? pause : kSeldom * pause));
}

void Asker::run() {
  for (;;) {
    const auto asked = Clock::now();
    auto reports = tasks_.ask(kPatience);
    MutexLock lock(mutex_);
    if (is_over_) return;
    lock.unlock();
    tell_(std::move(reports));
    lock.lock();
    while (!is_over_ && !next(asked).expired())
      lock.wait(changed_, next(asked),
                [this, seen = wanted_]() TFD_REQUIRES(mutex_) { return is_over_ || wanted_ != seen; });
    if (is_over_) return;
  }
}

}  // namespace tfd::http
