#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Connections to our listening socket, by descriptor: one that doesn't greet in time is closed, and so are new ones
// while no descriptors are left. libzmq can't close a single connection, and at the limit of descriptors its thread
// retries accept() in a loop: a spare descriptor is given up for it, and the connection accepted with it is closed.
// Thread rule: lives on one thread.
#include <deque>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>

#include "tfd/base/deadline.hpp"
#include "tfd/base/log.hpp"

namespace tfd::transport {

class Callers {
 public:
  explicit Callers(Log log) : log_(std::move(log)) {}
  Callers(const Callers&) = delete;
  Callers& operator=(const Callers&) = delete;
  ~Callers();

  /// Sets our address and opens the spare descriptor; called before there are any callers.
  void listen_on(const std::string& address);
  /// Events of the listening socket.
  void accepted(int fd);
  void disconnected(int fd);
  void accept_failed(int error);
  /// The caller's handshake succeeded.
  void has_greeted(int fd);
  /// Time by which look() is to be called, after all arrived messages were read.
  Clock::time_point next();
  void look();

 private:
  bool is_silent(const std::pair<int, Clock::time_point>& caller) const;
  void hang_up(int fd) const;

  Log log_;
  std::string address_;
  std::unordered_map<int, Clock::time_point> silent_;      // since when
  std::deque<std::pair<int, Clock::time_point>> in_turn_;  // the same, and some that have greeted
  int spare_ = -1;
  std::optional<Clock::time_point> full_since_;  // no descriptors are left
  std::optional<Clock::time_point> said_;
};

}  // namespace tfd::transport
