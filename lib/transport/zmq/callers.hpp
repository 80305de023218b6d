#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Who has connected to our listening socket, by descriptor: who doesn't greet in time is hung up on, and so is
// everybody new while no descriptors are left. libzmq has no way to close one connection, and at the limit of
// descriptors its thread tries to accept again and again: a spare one is given up, so that it can, and who is accepted
// with it is hung up on. Thread rule: lives on one thread.
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

  /// Our address, and the spare descriptor, from before there are any callers.
  void listen_on(const std::string& address);
  /// Events of the listening socket.
  void accepted(int fd);
  void disconnected(int fd);
  void accept_failed(int error);
  /// It has said hello.
  void has_greeted(int fd);
  /// look() is to be called by then, once all that has arrived was read.
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
