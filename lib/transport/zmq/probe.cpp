// SPDX-License-Identifier: Apache-2.0
#include "zmq/probe.hpp"

#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

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

std::string reason_of(int error) {
  return error == 0 || error == EAGAIN ? std::string(Probes::kUnknown) : lower(std::strerror(error));
}

}  // namespace

Result<std::string> name_of_socket(int fd) {
  SocketAddress name;
  name.size = sizeof name.storage;
  if (getsockname(fd, reinterpret_cast<sockaddr*>(&name.storage), &name.size) != 0)
    return fail_errno(errno, "cannot listen on the descriptor given");
  if (name.storage.ss_family == AF_UNIX)
    return std::string("ipc://") + reinterpret_cast<sockaddr_un&>(name.storage).sun_path;
  char host[NI_MAXHOST], port[NI_MAXSERV];
  if (getnameinfo(reinterpret_cast<sockaddr*>(&name.storage), name.size, host, sizeof host, port, sizeof port,
                  NI_NUMERICHOST | NI_NUMERICSERV) != 0)
    return fail(Code::kSystem, "cannot listen on the descriptor given: not a socket of an internet address or path");
  return name.storage.ss_family == AF_INET6 ? fmt::format("[{}]:{}", host, port) : fmt::format("{}:{}", host, port);
}

int start_connecting(const std::string& address, int& error) {
  SocketAddress to;
  const bool is_known = address.starts_with("ipc://")
                            ? parse_ipc(address.substr(6), to)
                            : parse_tcp(address.starts_with("tcp://") ? address.substr(6) : address, to);
  error = 0;
  if (!is_known) return -1;
  const int fd = socket(to.storage.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (fd < 0) return -1;
  if (::connect(fd, reinterpret_cast<sockaddr*>(&to.storage), to.size) == 0 || errno == EINPROGRESS) return fd;
  error = errno;
  close(fd);
  return -1;
}

Probes::~Probes() {
  for (const Known* known : open_) close(known->fd);
}

std::string Probes::why(const std::string& address) {
  constexpr auto kKept = std::chrono::seconds(1);
  Known& known = known_[address];
  const Clock::time_point now = Clock::now();
  if (known.fd >= 0 || now - known.since < kKept) return known.reason;
  known.reason = kUnknown;  // earlier findings say nothing about now
  if (open_.size() == kMost) return known.reason;
  known.since = now;
  int error = 0;
  known.fd = start_connecting(address, error);
  if (known.fd >= 0) {
    open_.push_back(&known);
    (void)poller_.add(known.fd, EPOLLOUT);  // or the result is taken at the next turn
  } else if (error != 0) {
    known.reason = reason_of(error);
  }
  return known.reason;
}

void Probes::look() {
  std::erase_if(open_, [](Known* known) {
    pollfd ready{known->fd, POLLOUT, 0};
    if (poll(&ready, 1, 0) <= 0) return false;
    int error = 0;
    socklen_t size = sizeof error;
    getsockopt(known->fd, SOL_SOCKET, SO_ERROR, &error, &size);
    close(std::exchange(known->fd, -1));
    known->reason = reason_of(error);
    return true;
  });
}

}  // namespace tfd::transport
