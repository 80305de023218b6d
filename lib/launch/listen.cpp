// SPDX-License-Identifier: Apache-2.0
#include "tfd/launch/listen.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <filesystem>
#include <set>
#include <sstream>
#include <thread>

#include "tfd/base/deadline.hpp"
#include "tfd/base/file.hpp"
#include "tfd/base/random.hpp"
#include "tfd/base/text.hpp"

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

namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMostTable = std::size_t{64} << 20;

/// An address as the kernel's tables have it: words of four bytes, in the host's order. Empty: it isn't numeric.
std::string table_form(const std::string& host) {
  std::array<std::uint32_t, 4> words{};
  if (::inet_pton(AF_INET, host.c_str(), words.data()) == 1) return fmt::format("{:08X}", words[0]);
  if (::inet_pton(AF_INET6, host.c_str(), words.data()) != 1) return "";
  return fmt::format("{:08X}{:08X}{:08X}{:08X}", words[0], words[1], words[2], words[3]);
}

/// Names of the sockets that listen at the address, or at any: "socket:[4711]".
std::set<std::string> listening_sockets(const cluster::Address& address) {
  const std::string host = table_form(address.host), port = fmt::format(":{:04X}", address.port);
  std::set<std::string> out;
  for (const char* table : {"/proc/net/tcp", "/proc/net/tcp6"}) {
    std::istringstream lines(load_file(table, kMostTable).value_or(""));
    for (std::string line; std::getline(lines, line);) {
      // Number, local and remote address, state, queues, timer, retransmissions, user, time-out, inode.
      std::array<std::string, 10> fields;
      std::istringstream words(line);
      for (std::string& field : fields) words >> field;
      const std::string& at = fields[1];
      if (fields[3] != "0A" || !at.ends_with(port)) continue;
      const std::string bound = at.substr(0, at.size() - port.size());
      if (bound == host || bound.find_first_not_of('0') == std::string::npos)
        out.insert(fmt::format("socket:[{}]", fields[9]));
    }
  }
  return out;
}

bool has_one_of(const fs::path& process, const std::set<std::string>& sockets) {
  std::error_code ignored;  // another user's, or it has ended
  for (fs::directory_iterator file(process / "fd", ignored), end; !ignored && file != end; file.increment(ignored)) {
    std::error_code unreadable;
    if (sockets.contains(fs::read_symlink(file->path(), unreadable).string())) return true;
  }
  return false;
}

}  // namespace

std::string describe_port_owner(const cluster::Address& address) {
  const std::set<std::string> sockets = listening_sockets(address);
  if (sockets.empty()) return "";
  std::error_code ignored;
  for (fs::directory_iterator process("/proc", ignored), end; !ignored && process != end; process.increment(ignored)) {
    const std::string pid = process->path().filename();
    if (!std::ranges::all_of(pid, [](char c) { return c >= '0' && c <= '9'; })) continue;
    if (!has_one_of(process->path(), sockets)) continue;
    std::string name = load_file(process->path() / "comm").value_or("");
    std::erase(name, '\n');
    return fmt::format("{}, process {}", printable(name), pid);
  }
  return "";
}

void name_port_owner(Error& error, const cluster::Address& address) {
  if (const std::string owner = describe_port_owner(address); !owner.empty())
    error.message += fmt::format(" ({})", owner);
}

}  // namespace tfd::launch
