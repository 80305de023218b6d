#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Messages between the clients of multi_host_plugin.cpp. Thread rule: one thread a socket.
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>
#include <thread>

namespace host_sockets {

/// Another host is gone, where TFD_TEST_ABORTS says that this is noticed.
struct HostGone {};
/// Else it is waited for.
[[noreturn]] inline void wait_for_nobody() {
  if (std::getenv("TFD_TEST_ABORTS") != nullptr) throw HostGone();
  for (;;) ::pause();
}
inline void send_all(int socket, const std::string& bytes) {
  const auto size = static_cast<std::uint64_t>(bytes.size());
  for (const std::string_view part :
       {std::string_view(reinterpret_cast<const char*>(&size), sizeof size), std::string_view(bytes)})
    for (size_t at = 0; at < part.size();) {
      const auto done = ::send(socket, part.data() + at, part.size() - at, MSG_NOSIGNAL);
      if (done < 0 && errno == EINTR) continue;
      if (done <= 0) wait_for_nobody();
      at += static_cast<size_t>(done);
    }
}
inline std::string receive_all(int socket) {
  std::string out;
  const auto read = [&](char* to, size_t size) {
    while (size > 0) {
      const auto done = ::recv(socket, to, size, 0);
      if (done < 0 && errno == EINTR) continue;
      if (done <= 0) wait_for_nobody();
      to += done;
      size -= static_cast<size_t>(done);
    }
  };
  std::uint64_t size = 0;
  read(reinterpret_cast<char*>(&size), sizeof size);
  out.resize(size);
  read(out.data(), out.size());
  return out;
}
inline sockaddr_un address_of(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::strncpy(address.sun_path, path.c_str(), sizeof address.sun_path - 1);
  return address;
}
inline int listen_at(const std::string& path) {
  const int listener = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const sockaddr_un address = address_of(path + ".new");
  ::unlink(path.c_str());
  ::unlink(address.sun_path);
  if (::bind(listener, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 || ::listen(listener, 64) != 0)
    return -1;
  return std::rename(address.sun_path, path.c_str()) == 0 ? listener : -1;
}
/// -1: nobody has listened for a minute.
inline int connect_to(const std::string& path) {
  const sockaddr_un address = address_of(path);
  for (int tries = 0; tries < 6000; ++tries) {
    const int socket = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (::connect(socket, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0) return socket;
    ::close(socket);
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return -1;
}

}  // namespace host_sockets
