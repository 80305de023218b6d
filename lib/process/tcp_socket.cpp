// SPDX-License-Identifier: Apache-2.0
#include "tfd/process/tcp_socket.hpp"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
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

void set(int socket, int level, int option, int value) { ::setsockopt(socket, level, option, &value, sizeof value); }

void set_keepalive(int socket, int idle_seconds, int again_seconds, int most) {
  set(socket, SOL_SOCKET, SO_KEEPALIVE, 1);
  set(socket, IPPROTO_TCP, TCP_KEEPIDLE, idle_seconds);
  set(socket, IPPROTO_TCP, TCP_KEEPINTVL, again_seconds);
  set(socket, IPPROTO_TCP, TCP_KEEPCNT, most);
}

/// No delay of small messages, and an end where the other host is gone.
void set_up(int socket) {
  set(socket, IPPROTO_TCP, TCP_NODELAY, 1);
  set_keepalive(socket, 60, 20, 3);
}

bool is_same_host(const sockaddr* one, const sockaddr* other) {
  if (one == nullptr || one->sa_family != other->sa_family) return false;
  if (one->sa_family == AF_INET)
    return reinterpret_cast<const sockaddr_in*>(one)->sin_addr.s_addr ==
           reinterpret_cast<const sockaddr_in*>(other)->sin_addr.s_addr;
  return one->sa_family == AF_INET6 &&
         std::memcmp(&reinterpret_cast<const sockaddr_in6*>(one)->sin6_addr,
                     &reinterpret_cast<const sockaddr_in6*>(other)->sin6_addr, sizeof(in6_addr)) == 0;
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

void expect_answers(int socket, Duration silence) {
  constexpr int kQuestions = 4;
  const auto quarter = std::chrono::duration_cast<std::chrono::seconds>(silence / kQuestions);
  const int pause = std::max(1, static_cast<int>(quarter.count()));
  set_keepalive(socket, pause, pause, kQuestions + 1);
}

bool awaits_answer(int socket, Duration since) {
  tcp_info info{};
  socklen_t size = sizeof info;
  if (::getsockopt(socket, IPPROTO_TCP, TCP_INFO, &info, &size) != 0) return false;
  const bool has_asked = info.tcpi_retransmits > 0 || info.tcpi_probes > 0;
  return has_asked && std::chrono::milliseconds(info.tcpi_last_ack_recv) >= since;
}

bool is_own_address(const std::string& host) {
  const bool has_brackets = host.size() > 2 && host.front() == '[' && host.back() == ']';
  const auto found = read_address(has_brackets ? host.substr(1, host.size() - 2) : host, "0");
  if (!found) return false;
  const sockaddr* const address = (*found)->ai_addr;
  if (address->sa_family == AF_INET &&
      ntohl(reinterpret_cast<const sockaddr_in*>(address)->sin_addr.s_addr) >> 24 == 127)
    return true;
  ifaddrs* list = nullptr;
  if (::getifaddrs(&list) != 0) return false;
  const std::unique_ptr<ifaddrs, decltype(&::freeifaddrs)> owner(list, ::freeifaddrs);
  for (const ifaddrs* entry = list; entry != nullptr; entry = entry->ifa_next)
    if (is_same_host(entry->ifa_addr, address)) return true;
  return false;
}

Fd accept_connection(int listener) {
  Fd socket(::accept4(listener, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
  if (socket) set_up(socket.get());
  return socket;
}

}  // namespace tfd::process
