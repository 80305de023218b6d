#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Sockets of members: TCP by numeric addresses, and Unix sockets within a host; everything non-blocking and
// close-on-exec. Thread rule: pure functions.
#include <string>

#include "tfd/collective/communicator.hpp"
#include "tfd/process/fd.hpp"

namespace tfd::collective {

class SocketListener : public Listener {
 public:
  SocketListener(process::Fd socket, std::string address) : socket_(std::move(socket)), address_(std::move(address)) {}
  const std::string& address() const override { return address_; }
  int fd() const { return socket_.get(); }

 private:
  process::Fd socket_;
  std::string address_;
};

/// A Unix socket of a random name in the abstract namespace: "unix:NAME" is its address.
Result<std::unique_ptr<SocketListener>> listen_on_host();

/// Starts to connect to "unix:NAME", "10.0.0.3:41231" or "[::1]:41231": it stands when the socket can be written to.
/// kInvalidArgument: not such an address.
Result<process::Fd> start_connecting(const std::string& address);

}  // namespace tfd::collective
