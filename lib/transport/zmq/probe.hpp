#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// The operating system's view of addresses; libzmq doesn't report its errors. Thread rule: lives on one thread; nothing
// here blocks.
#include <string>
#include <unordered_map>
#include <vector>

#include "poller.hpp"
#include "tfd/base/deadline.hpp"
#include "tfd/base/error.hpp"

namespace tfd::transport {

/// "127.0.0.1:41234", "[::1]:2222", "ipc:///path": what a listening socket is bound to.
Result<std::string> name_of_socket(int fd);

/// Returns a socket that connects to such an address without blocking; -1 if that fails at once, with the errno, or 0
/// for an address that isn't numeric.
int start_connecting(const std::string& address, int& error);

/// Finds out why connections fail, by connecting itself now and then.
class Probes {
 public:
  static constexpr std::size_t kMost = 16;  // at a time
  static constexpr const char* kUnknown = "unreachable";
  explicit Probes(Poller& poller) : poller_(poller) {}
  Probes(const Probes&) = delete;
  Probes& operator=(const Probes&) = delete;
  ~Probes();

  /// The finding of the last second: "connection refused"; or "unreachable", until a probe of `address` has finished.
  /// An older one isn't told: that nobody was there yet, when this process began, doesn't mean that somebody has gone.
  std::string why(const std::string& address);
  /// Takes results, after the poller has waited.
  void look();

 private:
  struct Known {
    std::string reason = kUnknown;
    Clock::time_point since{};
    int fd = -1;  // while it is on its way
  };

  Poller& poller_;
  std::unordered_map<std::string, Known> known_;
  std::vector<Known*> open_;  // of those: on their way
};

}  // namespace tfd::transport
