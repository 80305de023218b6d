// SPDX-License-Identifier: Apache-2.0
#include "tfd/process/event_loop.hpp"

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>
#include <utility>
#include <vector>

namespace tfd::process {

void EventLoop::watch(int fd, short events, std::function<void(short)> callback) {
  watches_[fd] = Watch{events, next_++, std::move(callback)};
}

void EventLoop::forget(int fd) { watches_.erase(fd); }

EventLoop::TimerId EventLoop::at(Clock::time_point when, std::function<void()> action) {
  const TimerId id = next_++;
  timers_.emplace(std::pair{when, id}, std::move(action));
  return id;
}

void EventLoop::cancel(TimerId timer) {
  for (auto entry = timers_.begin(); entry != timers_.end(); ++entry) {
    if (entry->first.second != timer) continue;
    timers_.erase(entry);
    return;
  }
}

Result<void> EventLoop::accept_posts() {
  if (wake_) return {};
  wake_ = Fd(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!wake_) return fail_errno(errno, "cannot make an event descriptor");
  watch(wake_.get(), POLLIN, [this](short) { do_posted(); });
  return {};
}

void EventLoop::post(std::function<void()> work) {
  {
    const MutexLock lock(mutex_);
    posted_.push_back(std::move(work));
  }
  const std::uint64_t one = 1;
  [[maybe_unused]] const auto written = ::write(wake_.get(), &one, sizeof one);  // full: the loop is woken anyway
}

void EventLoop::do_posted() {
  std::uint64_t count = 0;
  [[maybe_unused]] const auto got = ::read(wake_.get(), &count, sizeof count);
  std::vector<std::function<void()>> posted;
  {
    const MutexLock lock(mutex_);
    posted.swap(posted_);
  }
  for (const auto& work : posted) work();
}

Result<void> EventLoop::turn(Deadline deadline) {
  if (!timers_.empty()) deadline = deadline.earlier_of(Deadline::at(timers_.begin()->first.first));
  std::vector<pollfd> polled;
  std::vector<std::uint64_t> generations;
  for (const auto& [fd, watch] : watches_) {
    polled.push_back({fd, watch.events, 0});
    generations.push_back(watch.generation);
  }
  if (::poll(polled.data(), polled.size(), deadline.poll_ms()) < 0 && errno != EINTR)
    return fail_errno(errno, "cannot wait for events");
  for (std::size_t i = 0; i < polled.size(); ++i) {
    if (polled[i].revents == 0) continue;
    const auto found = watches_.find(polled[i].fd);
    if (found == watches_.end() || found->second.generation != generations[i]) continue;  // forgotten meanwhile
    const auto callback = found->second.callback;  // a copy: it may forget itself
    callback(polled[i].revents);
  }
  const auto now = Clock::now();
  while (!timers_.empty() && timers_.begin()->first.first <= now) {
    const auto action = std::move(timers_.begin()->second);
    timers_.erase(timers_.begin());
    action();
  }
  return {};
}

}  // namespace tfd::process
