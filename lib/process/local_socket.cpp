// SPDX-License-Identifier: Apache-2.0
#include "tfd/process/local_socket.hpp"

#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <cstring>

namespace tfd::process {
namespace {

constexpr int kMostReads = 16;  // of bells: some are left for the next time

std::pair<sockaddr_un, socklen_t> address_of(std::string_view name) {
  sockaddr_un out{};
  out.sun_family = AF_UNIX;
  const std::size_t size = std::min(name.size(), sizeof out.sun_path - 1);
  std::copy_n(name.begin(), size, out.sun_path + 1);
  return {out, static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + size)};
}

Fd make_socket() { return Fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)); }

/// A message that carries a descriptor, or has room for one.
struct Carrier {
  Carrier(void* bytes, std::size_t size) : piece{bytes, size} {
    header.msg_iov = &piece;
    header.msg_iovlen = 1;
    header.msg_control = control.data();
    header.msg_controllen = control.size();
  }
  /// The descriptor that came with the message, if exactly one came. Several are closed.
  Fd take_descriptor() {
    const cmsghdr* const first = CMSG_FIRSTHDR(&header);
    if (first == nullptr || first->cmsg_level != SOL_SOCKET || first->cmsg_type != SCM_RIGHTS) return {};
    Fd one;
    const std::size_t bytes = first->cmsg_len - CMSG_LEN(0);
    for (std::size_t at = 0; at + sizeof(int) <= bytes; at += sizeof(int)) {
      int number = -1;
      std::memcpy(&number, CMSG_DATA(first) + at, sizeof number);
      one = Fd(number);
    }
    return bytes == sizeof(int) ? std::move(one) : Fd();
  }
  iovec piece;
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int))> control{};
  msghdr header{};
};

}  // namespace

Result<LocalPair> make_local_pair() {
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends) != 0)
    return fail_errno(errno, "cannot make a socket");
  return LocalPair{Fd(ends[0]), Fd(ends[1])};
}

Result<Fd> listen_locally(std::string_view name, int backlog) {
  Fd socket = make_socket();
  const auto [address, size] = address_of(name);
  if (!socket || ::bind(socket.get(), reinterpret_cast<const sockaddr*>(&address), size) != 0 ||
      ::listen(socket.get(), backlog) != 0)
    return fail_errno(errno, "cannot listen on a socket of this host");
  return socket;
}

Result<Fd> connect_locally(std::string_view name) {
  Fd socket = make_socket();
  if (!socket) return fail_errno(errno, "cannot make a socket");
  const auto [address, size] = address_of(name);
  if (::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), size) != 0)
    return fail(Code::kUnavailable, "{}", errno == EAGAIN ? "too many wait to be let in" : std::strerror(errno));
  return socket;
}

bool is_own_user(int socket) {
  ucred peer{};
  socklen_t size = sizeof peer;
  return ::getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 && peer.uid == ::geteuid();
}

Result<void> send_with_descriptor(int socket, std::span<const std::byte> bytes, int descriptor) {
  Carrier carrier(const_cast<std::byte*>(bytes.data()), bytes.size());
  cmsghdr* const control = CMSG_FIRSTHDR(&carrier.header);
  control->cmsg_level = SOL_SOCKET;
  control->cmsg_type = SCM_RIGHTS;
  control->cmsg_len = CMSG_LEN(sizeof descriptor);
  std::memcpy(CMSG_DATA(control), &descriptor, sizeof descriptor);
  if (::sendmsg(socket, &carrier.header, MSG_NOSIGNAL | MSG_DONTWAIT) != static_cast<ssize_t>(bytes.size()))
    return fail(Code::kUnavailable, "cannot hand over a descriptor: {}", std::strerror(errno));
  return {};
}

Result<Fd> receive_with_descriptor(int socket, std::span<std::byte> to) {
  Carrier carrier(to.data(), to.size());
  const ssize_t got = ::recvmsg(socket, &carrier.header, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) return fail(Code::kUnavailable, "nothing has come");
  if (got <= 0) return fail(Code::kAborted, "the other end is closed");
  Fd descriptor = carrier.take_descriptor();
  if (static_cast<std::size_t>(got) != to.size())
    return fail(Code::kInvalidArgument, "{} bytes came instead of {}", got, to.size());
  return descriptor;
}

void ring_bell(int socket) {
  const char bell = 1;
  (void)!::send(socket, &bell, 1, MSG_NOSIGNAL | MSG_DONTWAIT);
}

bool hears_unread_bells() {
  static const bool is_heard = [] {
    const Result<LocalPair> ends = make_local_pair();
    const Fd epoll(::epoll_create1(EPOLL_CLOEXEC));
    epoll_event event{EPOLLIN | EPOLLET, {}};
    bool is_each = ends && epoll && ::epoll_ctl(epoll.get(), EPOLL_CTL_ADD, ends->one.get(), &event) == 0;
    for (int i = 0; is_each && i < kUnreadBells; ++i) {
      ring_bell(ends->other.get());
      is_each = ::epoll_wait(epoll.get(), &event, 1, 0) == 1;
    }
    return is_each;
  }();
  return is_heard;
}

bool answer_bell(int socket) {
  Fd nothing;
  return answer_bell(socket, nothing);
}

bool answer_bell(int socket, Fd& brought) {
  std::array<char, 64> bells;
  for (int reads = 0; reads < kMostReads; ++reads) {
    Carrier carrier(bells.data(), bells.size());
    const ssize_t got = ::recvmsg(socket, &carrier.header, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    if (got <= 0) return got < 0 && (errno == EAGAIN || errno == EINTR);
    Fd along = carrier.take_descriptor();
    if (!along && got < static_cast<ssize_t>(bells.size())) return true;
    if (along) brought = std::move(along);
  }
  return true;
}

}  // namespace tfd::process
