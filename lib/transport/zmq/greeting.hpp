#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// The security mechanism in the greeting of a listening ZeroMQ socket. libzmq reports a mismatch only if it reads the
// other side's greeting before that closes, which is a race. Thread rule: lives on one thread; nothing here blocks.
#include <unistd.h>

#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "poller.hpp"
#include "tfd/base/deadline.hpp"

namespace tfd::transport {

/// Probes, now and then, with the first bytes of a greeting (ZMTP 3.0, ZeroMQ RFC 23) on a connection of its own.
class Greetings {
 public:
  static constexpr std::size_t kMost = 8;  // at a time
  explicit Greetings(Poller& poller) : poller_(poller) {}
  Greetings(const Greetings&) = delete;
  Greetings& operator=(const Greetings&) = delete;
  ~Greetings();

  /// "NULL" or "CURVE", as of a second ago or less; empty while it isn't known: ask again later.
  std::string mechanism(const std::string& address);
  /// Goes on with those that can, after the poller has waited.
  void look();

 private:
  struct Asked {
    std::string mechanism;
    Clock::time_point since{};
    int fd = -1;  // while it is asked
    bool greeted = false;
    std::string heard;
  };
  void drop_stale(Clock::time_point now);
  void go_on(Asked& asked);
  static void finish(Asked& asked) { ::close(std::exchange(asked.fd, -1)); }

  Poller& poller_;
  std::unordered_map<std::string, Asked> asked_;
  std::vector<Asked*> open_;  // of those: being asked
};

}  // namespace tfd::transport
