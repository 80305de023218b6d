#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// A listening socket of loopback, at a port that the system chooses, for an endpoint that listens there. Thread rule:
// plain value.
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <stdexcept>
#include <string>

#include "tfd/task/task_server.hpp"

namespace tfd::test {

class Listening {
 public:
  Listening() : fd_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    auto* const generic = reinterpret_cast<sockaddr*>(&address);
    if (::bind(fd_, generic, size) != 0 || ::listen(fd_, 64) != 0 || ::getsockname(fd_, generic, &size) != 0)
      throw std::runtime_error("cannot listen on loopback");
    address_ = fmt::format("127.0.0.1:{}", ntohs(address.sin_port));
  }
  Listening(const Listening&) = delete;
  Listening& operator=(const Listening&) = delete;
  ~Listening() { ::close(fd_); }
  const std::string& address() const { return address_; }
  /// Makes endpoints that listen here, if they listen; each has the socket for itself.
  transport::EndpointFactory endpoints() const {
    return [fd = fd_](transport::EndpointOptions options) {
      if (!options.bind.empty()) options.listen_fd = ::dup(fd);
      return transport::make_zmq_endpoint(std::move(options));
    };
  }

 private:
  int fd_;
  std::string address_;
};

}  // namespace tfd::test
