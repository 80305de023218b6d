// SPDX-License-Identifier: Apache-2.0
#include "tfd/process/tcp_socket.hpp"

#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <memory>

#include "tfd/base/text.hpp"

namespace tfd::process {
namespace {

using AddressList = std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)>;

Result<AddressList> read_address(const std::string& host, const std::string& port) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV;
  addrinfo* found = nullptr;
  if (::getaddrinfo(host.c_str(), port.c_str(), &hints, &found) != 0 || found == nullptr)
    return fail(Code::kInvalidArgument, "'{}' is not an IP address", printable(host));
  return AddressList(found, ::freeaddrinfo);
}

/// No delay of small messages, and an end where the other host is gone.
void set_up(int socket) {
  const auto set = [&](int level, int option, int value) { ::setsockopt(socket, level, option, &value, sizeof value); };
  set(IPPROTO_TCP, TCP_NODELAY, 1);
  set(SOL_SOCKET, SO_KEEPALIVE, 1);
  set(IPPROTO_TCP, TCP_KEEPIDLE, 60);
  set(IPPROTO_TCP, TCP_KEEPINTVL, 20);
  set(IPPROTO_TCP, TCP_KEEPCNT, 3);
}

std::string format_address(const sockaddr_storage& address, socklen_t size) {
  std::array<char, NI_MAXHOST> host{};
  std::array<char, NI_MAXSERV> port{};
  ::getnameinfo(reinterpret_cast<const sockaddr*>(&address), size, host.data(), host.size(), port.data(), port.size(),
                NI_NUMERICHOST | NI_NUMERICSERV);
  if (address.ss_family == AF_INET6) return fmt::format("[{}]:{}", host.data(), port.data());
  return fmt::format("{}:{}", host.data(), port.data());
}

}  // namespace

Result<TcpListener> listen_by_tcp(const std::string& host, int backlog) {
  const AddressList found = TFD_TRY(read_address(host, "0"));
  Fd socket(::socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  sockaddr_storage bound{};
  socklen_t size = sizeof bound;
  if (!socket || ::bind(socket.get(), found->ai_addr, found->ai_addrlen) != 0 || ::listen(socket.get(), backlog) != 0 ||
      ::getsockname(socket.get(), reinterpret_cast<sockaddr*>(&bound), &size) != 0)
    return fail_errno(errno, fmt::format("cannot listen at {}", host));
  return TcpListener{std::move(socket), format_address(bound, size)};
}

Result<Fd> start_connecting_by_tcp(const std::string& address) {
  const std::size_t colon = address.rfind(':');
  if (colon == std::string::npos) return fail(Code::kInvalidArgument, "'{}' is not HOST:PORT", printable(address));
  std::string host = address.substr(0, colon);
  if (host.size() > 2 && host.front() == '[' && host.back() == ']') host = host.substr(1, host.size() - 2);
  const AddressList found = TFD_TRY(read_address(host, address.substr(colon + 1)));
  Fd socket(::socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!socket) return fail_errno(errno, "cannot make a socket");
  set_up(socket.get());
  if (::connect(socket.get(), found->ai_addr, found->ai_addrlen) != 0 && errno != EINPROGRESS)
    return fail_errno(errno, fmt::format("cannot connect to {}", address));
  return socket;
}

int connection_error(int socket) {
  int error = 0;
  socklen_t size = sizeof error;
  return ::getsockopt(socket, SOL_SOCKET, SO_ERROR, &error, &size) != 0 ? errno : error;
}

Fd accept_connection(int listener) {
  Fd socket(::accept4(listener, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
  if (socket) set_up(socket.get());
  return socket;
}

}  // namespace tfd::process
