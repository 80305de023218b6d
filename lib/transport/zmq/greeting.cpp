// SPDX-License-Identifier: Apache-2.0
#include "zmq/greeting.hpp"

#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <string_view>

#include "zmq/probe.hpp"

namespace tfd::transport {
namespace {

constexpr auto kFresh = std::chrono::seconds(1);
constexpr std::string_view kOurs("\xFF\0\0\0\0\0\0\0\1\x7F\3\0", 12);  // its mechanism would be next
constexpr std::size_t kMechanismAt = 12, kMechanismBytes = 20;

}  // namespace

Greetings::~Greetings() {
  for (Asked* asked : open_) finish(*asked);
}

std::string Greetings::mechanism(const std::string& address) {
  const Clock::time_point now = Clock::now();
  drop_stale(now);
  Asked& asked = asked_[address];
  if (asked.fd >= 0 || now - asked.since < kFresh || open_.size() == kMost) return asked.mechanism;
  asked = {.mechanism = {}, .since = now, .fd = -1, .greeted = false, .heard = {}};
  int error = 0;
  asked.fd = start_connecting(address, error);
  if (asked.fd < 0) return {};
  open_.push_back(&asked);
  (void)poller_.add(asked.fd, EPOLLOUT);  // or it goes on at the next turn
  return {};
}

void Greetings::drop_stale(Clock::time_point now) {
  std::erase_if(open_, [now](Asked* asked) {
    if (now - asked->since < kFresh) return false;
    finish(*asked);
    return true;
  });
}

void Greetings::look() {
  std::erase_if(open_, [this](Asked* asked) {
    const short events = asked->greeted ? POLLIN : POLLOUT;  // it is written, then read
    pollfd ready{asked->fd, events, 0};
    if (poll(&ready, 1, 0) > 0) go_on(*asked);
    return asked->fd < 0;
  });
}

void Greetings::go_on(Asked& asked) {
  if (!asked.greeted) {
    asked.greeted = true;
    poller_.change(asked.fd, EPOLLIN);
    if (send(asked.fd, kOurs.data(), kOurs.size(), MSG_NOSIGNAL | MSG_DONTWAIT) < 0) finish(asked);
    return;
  }
  std::array<char, kMechanismAt + kMechanismBytes> bytes{};
  const ssize_t got = recv(asked.fd, bytes.data(), bytes.size() - asked.heard.size(), MSG_DONTWAIT);
  if (got <= 0 && (errno != EAGAIN || got == 0)) return finish(asked);
  asked.heard.append(bytes.data(), static_cast<std::size_t>(got > 0 ? got : 0));
  if (asked.heard.size() < bytes.size()) return;
  asked.mechanism = asked.heard.substr(kMechanismAt);
  asked.mechanism = asked.mechanism.substr(0, asked.mechanism.find('\0'));
  finish(asked);
}

}  // namespace tfd::transport
