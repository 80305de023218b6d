#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Resolves host names. libzmq would resolve them on its I/O thread and block all connections while a name server is
// slow. Thread rule: the functions are for one thread; lookups run on threads of their own.
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "waker.hpp"

namespace tfd::transport {

/// The host of "host:port", if it has to be resolved; empty for numeric addresses, paths, and malformed addresses.
std::string host_name(const std::string& address);

class Resolver {
 public:
  struct Answer {
    std::uint64_t tag = 0;
    std::vector<std::string> addresses;  // "10.0.0.7", "[fe80::1]": IPv4 first
    std::string reason;                  // why there are no addresses: "no such host"
  };
  explicit Resolver(std::shared_ptr<Waker> waker);
  ~Resolver();
  Resolver(const Resolver&) = delete;
  Resolver& operator=(const Resolver&) = delete;

  /// Starts a lookup; its answer carries `tag` and comes after a wake().
  void look_up(std::uint64_t tag, const std::string& host);
  std::vector<Answer> take();
  bool has_answers() const;

 private:
  struct State;
  std::shared_ptr<State> state_;  // with the threads, which may live longer
};

}  // namespace tfd::transport
