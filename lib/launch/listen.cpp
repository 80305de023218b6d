// SPDX-License-Identifier: Apache-2.0
#include "tfd/launch/listen.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <cerrno>
#include <thread>

#include "tfd/base/deadline.hpp"
#include "tfd/base/random.hpp"
#include "tfd/launch/port_owner.hpp"

namespace tfd::launch {
namespace {

constexpr int kMostTries = 20;
constexpr Duration kMostPause = std::chrono::milliseconds(10);
constexpr int kBacklog = 1024;  // a large cluster's tasks connect at once, perhaps while the task restarts

union SocketAddress {
  sockaddr any;
  sockaddr_in four;
  sockaddr_in6 six;
};

Result<socklen_t> fill(SocketAddress& out, const cluster::Address& address) {
  out = {};
  if (::inet_pton(AF_INET, address.host.c_str(), &out.four.sin_addr) == 1) {
    out.four.sin_family = AF_INET;
    out.four.sin_port = htons(address.port);
    return socklen_t{sizeof out.four};
  }
  out = {};
  if (::inet_pton(AF_INET6, address.host.c_str(), &out.six.sin6_addr) == 1) {
    out.six.sin6_family = AF_INET6;
    out.six.sin6_port = htons(address.port);
    return socklen_t{sizeof out.six};
  }
  return fail(Code::kInvalidArgument, "cannot bind '{}': no IPv4 or IPv6 address", address.host);
}

std::uint16_t port_of(int fd) {
  SocketAddress bound{};
  socklen_t size = sizeof bound;
  if (::getsockname(fd, &bound.any, &size) != 0) return 0;
  return ntohs(bound.any.sa_family == AF_INET6 ? bound.six.sin6_port : bound.four.sin_port);
}

Result<Listener> bind_to(const cluster::Address& address) {
  SocketAddress where;
  const socklen_t size = TFD_TRY(fill(where, address));
  process::Fd fd(::socket(where.any.sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!fd) return fail_errno(errno, "cannot create a socket");
  const int on = 1;
  ::setsockopt(fd.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  if (::bind(fd.get(), &where.any, size) != 0) {
    const int why = errno;
    auto failure = fail_errno(why, fmt::format("cannot bind {}", cluster::format_address(address)));
    if (why == EADDRINUSE) name_port_owner(failure.value(), address);
    return failure;
  }
  Listener listener{std::move(fd), address};
  listener.address.port = port_of(listener.fd.get());
  return listener;
}

}  // namespace

// Linux may refuse listen() to both of two processes that have bound a port and listen at the same moment; then nobody
// has it. If one process has it, bind() refuses the other; so after a refused listen() we try again, at another moment.
Result<Listener> listen_on(const cluster::Address& address) {
  for (int tries = 1;; ++tries) {
    Listener listener = TFD_TRY(bind_to(address));
    if (::listen(listener.fd.get(), kBacklog) == 0) return listener;
    const int why = errno;
    if (why != EADDRINUSE || tries == kMostTries)
      return fail_errno(why, fmt::format("cannot listen on {}", cluster::format_address(listener.address)));
    listener.fd.reset();
    std::this_thread::sleep_for(kMostPause * static_cast<int>(random_bits() % 100) / 100);
  }
}

Result<Listener> reserve_port(const cluster::Address& address) { return bind_to(address); }

}  // namespace tfd::launch
