// SPDX-License-Identifier: Apache-2.0
#include "zmq/callers.hpp"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "tfd/base/units.hpp"
#include "zmq/probe.hpp"

namespace tfd::transport {
namespace {

// Time for a greeting: longer than a handshake takes under load; meanwhile the caller holds a descriptor of ours.
constexpr auto kGreetWithin = std::chrono::seconds(10);
constexpr auto kFull = std::chrono::milliseconds(100);  // until it is seen whether there are descriptors again
constexpr auto kSayAgain = std::chrono::minutes(10);

int open_spare() { return ::open("/dev/null", O_RDONLY | O_CLOEXEC); }

std::size_t most_descriptors() {
  rlimit limit{};
  ::getrlimit(RLIMIT_NOFILE, &limit);
  return limit.rlim_cur;
}

}  // namespace

Callers::~Callers() {
  if (spare_ >= 0) ::close(spare_);
}

void Callers::listen_on(const std::string& address) {
  address_ = address;
  spare_ = open_spare();
}

void Callers::accepted(int fd) {
  if (full_since_) return hang_up(fd);
  in_turn_.emplace_back(fd, Clock::now());
  silent_[fd] = in_turn_.back().second;
}

void Callers::disconnected(int fd) { silent_.erase(fd); }

void Callers::has_greeted(int fd) { silent_.erase(fd); }

void Callers::accept_failed(int error) {
  if (full_since_ || (error != EMFILE && error != ENFILE)) return;
  const Clock::time_point now = Clock::now();
  full_since_ = now;
  if (spare_ >= 0)
    ::close(std::exchange(spare_, -1));
  else if (next() != Clock::time_point::max() && !in_turn_.empty())
    hang_up(in_turn_.front().first);
  if (said_ && now - *said_ < kSayAgain) return;
  said_ = now;
  log_.warning("{}: all {} descriptors are in use: new connections are closed (ulimit -n)", address_,
               most_descriptors());
}

bool Callers::is_silent(const std::pair<int, Clock::time_point>& caller) const {
  const auto found = silent_.find(caller.first);
  return found != silent_.end() && found->second == caller.second;
}

Clock::time_point Callers::next() {
  while (!in_turn_.empty() && !is_silent(in_turn_.front())) in_turn_.pop_front();
  Clock::time_point next = full_since_ ? *full_since_ + kFull : Clock::time_point::max();
  if (!in_turn_.empty()) next = std::min(next, in_turn_.front().second + kGreetWithin);
  return next;
}

void Callers::look() {
  const Clock::time_point now = Clock::now();
  if (next() > now) return;
  if (full_since_ && now - *full_since_ >= kFull) {
    if (spare_ < 0) spare_ = open_spare();
    full_since_ = spare_ >= 0 ? std::nullopt : std::optional(now);
  }
  for (; !in_turn_.empty() && now - in_turn_.front().second >= kGreetWithin; in_turn_.pop_front()) {
    if (!is_silent(in_turn_.front())) continue;
    silent_.erase(in_turn_.front().first);
    log_.info("{}: closing a connection that has sent no greeting for {}", address_, format_duration(kGreetWithin));
    hang_up(in_turn_.front().first);
  }
}

// libzmq sees the end of the connection and closes it. The descriptor's number may have been reused, but any connection
// to our address is a caller's, which may reconnect.
void Callers::hang_up(int fd) const {
  const auto port_of = [](const std::string& address) { return address.substr(address.rfind(':') + 1); };  // or a path
  if (const auto name = name_of_socket(fd); name && port_of(*name) == port_of(address_)) ::shutdown(fd, SHUT_RDWR);
}

}  // namespace tfd::transport
