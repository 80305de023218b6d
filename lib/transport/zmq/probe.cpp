// SPDX-License-Identifier: Apache-2.0
#include "zmq/probe.hpp"

#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace tfd::transport {
namespace {

struct SocketAddress {
  sockaddr_storage storage{};
  socklen_t size = 0;
};

bool parse_ipc(const std::string& path, SocketAddress& out) {
  auto& un = reinterpret_cast<sockaddr_un&>(out.storage);
  if (path.size() >= sizeof un.sun_path) return false;
  un.sun_family = AF_UNIX;
  std::memcpy(un.sun_path, path.data(), path.size());
  out.size = sizeof(sockaddr_un);
  return true;
}

// Numeric ones only: nothing here waits for a name server.
bool parse_tcp(const std::string& address, SocketAddress& out) {
  const std::size_t colon = address.rfind(':');
  if (colon == std::string::npos) return false;
  std::string host = address.substr(0, colon);
  if (host.size() > 2 && host.front() == '[') host = host.substr(1, host.size() - 2);
  addrinfo hints{}, *found = nullptr;
  hints.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV;
  hints.ai_socktype = SOCK_STREAM;
  if (getaddrinfo(host.c_str(), address.c_str() + colon + 1, &hints, &found) != 0) return false;
  std::memcpy(&out.storage, found->ai_addr, found->ai_addrlen);
  out.size = found->ai_addrlen;
  freeaddrinfo(found);
  return true;
}

std::string lower(std::string text) {
  for (char& c : text) c = static_cast<char>(c >= 'A' && c <= 'Z' ? c + 32 : c);
  return text;
}

}  // namespace

Result<std::string> name_of_socket(int fd) {
  SocketAddress name;
  name.size = sizeof name.storage;
  if (getsockname(fd, reinterpret_cast<sockaddr*>(&name.storage), &name.size) != 0) return fail_errno(errno, "cannot listen on the descriptor given");
  if (name.storage.ss_family == AF_UNIX) return std::string("ipc://") + reinterpret_cast<sockaddr_un&>(name.storage).sun_path;
  char host[NI_MAXHOST], port[NI_MAXSERV];
  if (getnameinfo(reinterpret_cast<sockaddr*>(&name.storage), name.size, host, sizeof host, port, sizeof port, NI_NUMERICHOST | NI_NUMERICSERV) != 0)
    return fail(Code::kSystem, "cannot listen on the descriptor given: not a socket of an internet address or path");
  return name.storage.ss_family == AF_INET6 ? fmt::format("[{}]:{}", host, port) : fmt::format("{}:{}", host, port);
}

std::string why_unreachable(const std::string& address) {
  SocketAddress to;
  const bool known = address.starts_with("ipc://") ? parse_ipc(address.substr(6), to)
                                                   : parse_tcp(address.starts_with("tcp://") ? address.substr(6) : address, to);
  if (!known) return "unreachable";
  const int fd = socket(to.storage.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (fd < 0) return lower(std::strerror(errno));
  const int outcome = ::connect(fd, reinterpret_cast<sockaddr*>(&to.storage), to.size) == 0 ? 0 : errno;
  close(fd);
  if (outcome == 0 || outcome == EINPROGRESS || outcome == EAGAIN) return "unreachable";
  return lower(std::strerror(outcome));
}

}  // namespace tfd::transport
