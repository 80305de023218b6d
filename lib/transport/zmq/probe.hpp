#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// What the operating system says about addresses; libzmq keeps its errors to itself. Thread rule: lives on one thread;
// nothing here blocks.
#include <string>
#include <unordered_map>
#include <vector>

#include "tfd/base/deadline.hpp"
#include "tfd/base/error.hpp"

namespace tfd::transport {

/// "127.0.0.1:41234", "[::1]:2222", "ipc:///path": what a listening socket is bound to.
Result<std::string> name_of_socket(int fd);

/// A socket that connects to such an address without blocking; -1 where that can't even begin, with the errno, 0 for an
/// address that isn't numeric.
int start_connecting(const std::string& address, int& error);

/// Finds out why connections fail, by trying too, now and then.
class Probes {
 public:
  static constexpr std::size_t kMost = 16;  // at a time
  Probes() = default;
  Probes(const Probes&) = delete;
  Probes& operator=(const Probes&) = delete;
  ~Probes();

  /// What is known by now: "connection refused", or "unreachable" until the first probe of `address` has come back.
  std::string why(const std::string& address);
  /// To be polled for POLLOUT; then look().
  std::vector<int> fds() const;
  void look();

 private:
  struct Known {
    std::string reason = "unreachable";
    Clock::time_point since{};
    int fd = -1;  // while it is on its way
  };
  void finish(Known& known, int error);

  std::unordered_map<std::string, Known> known_;
  std::size_t open_ = 0;
};

}  // namespace tfd::transport
