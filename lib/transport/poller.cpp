// SPDX-License-Identifier: Apache-2.0
#include "poller.hpp"

#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <ctime>

#ifndef SYS_epoll_pwait2  // headers before Linux 5.11
#define SYS_epoll_pwait2 441
#endif

namespace tfd::transport {
namespace {

constexpr int kMostAtOnce = 64;

timespec time_left(Clock::time_point until) {
  const auto left = std::max(Duration::zero(), Duration(until - Clock::now()));
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(left);
  return {static_cast<time_t>(seconds.count()), static_cast<long>((left - seconds).count())};
}

}  // namespace

void poll_until(pollfd* fds, nfds_t count, Clock::time_point until) {
  if (until == Clock::time_point::max()) {
    ::ppoll(fds, count, nullptr, nullptr);
    return;
  }
  const timespec timeout = time_left(until);
  ::ppoll(fds, count, &timeout, nullptr);
}

Result<std::shared_ptr<Poller>> Poller::make(std::shared_ptr<Waker> waker) {
  process::Fd epoll(::epoll_create1(EPOLL_CLOEXEC));
  if (!epoll) return fail_errno(errno, "cannot watch sockets");
  std::shared_ptr<Poller> poller(new Poller(std::move(epoll), std::move(waker)));
  TFD_TRY(poller->add(poller->waker()->fd(), EPOLLIN | EPOLLET));  // every wake() is an event: nobody reads it
  return poller;
}

int Poller::control(int operation, int fd, std::uint32_t events) {
  const std::uint64_t number = sources_[static_cast<std::size_t>(fd)].number;
  epoll_event event{events, {.u64 = number << 32 | static_cast<std::uint32_t>(fd)}};
  return ::epoll_ctl(epoll_.get(), operation, fd, &event);
}

Result<void> Poller::add(int fd, std::uint32_t events, Watcher* watcher, std::uint64_t whose) {
  const auto at = static_cast<std::size_t>(fd);
  if (at >= sources_.size()) sources_.resize(at + 1);
  sources_[at] = {watcher, whose, sources_[at].number + 1};
  if (control(EPOLL_CTL_ADD, fd, events) != 0) return fail_errno(errno, "cannot watch a socket");
  return {};
}

void Poller::change(int fd, std::uint32_t events) { control(EPOLL_CTL_MOD, fd, events); }

void Poller::remove(int fd) {
  control(EPOLL_CTL_DEL, fd, 0);
  sources_[static_cast<std::size_t>(fd)].watcher = nullptr;
}

// The wrapper of epoll_pwait2 came with glibc 2.35, and releases run with older ones.
int Poller::wait_for(epoll_event* events, int most, Clock::time_point until) {
  if (until == Clock::time_point::max()) return ::epoll_wait(epoll_.get(), events, most, -1);
  if (until <= Clock::time_point{}) return ::epoll_wait(epoll_.get(), events, most, 0);
  if (is_exact_) {
    const timespec timeout = time_left(until);
    const auto count = ::syscall(SYS_epoll_pwait2, epoll_.get(), events, most, &timeout, nullptr, 0);
    if (count >= 0 || errno == EINTR) return static_cast<int>(count);
    is_exact_ = false;  // before Linux 5.11, or where a filter of system calls doesn't know it
  }
  pollfd any{epoll_.get(), POLLIN, 0};
  poll_until(&any, 1, until);
  return ::epoll_wait(epoll_.get(), events, most, 0);
}

void Poller::wait(Clock::time_point until) {
  std::array<epoll_event, kMostAtOnce> events;
  const int count = wait_for(events.data(), kMostAtOnce, until);
  for (int i = 0; i < count; ++i) {
    const epoll_event& event = events[static_cast<std::size_t>(i)];
    const Source source = sources_[event.data.u64 & 0xffffffff];
    if (source.watcher != nullptr && source.number == event.data.u64 >> 32)
      source.watcher->on_ready(source.whose, event.events);
  }
}

}  // namespace tfd::transport
