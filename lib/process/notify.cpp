// SPDX-License-Identifier: Apache-2.0
#include "tfd/process/notify.hpp"

#include <sys/socket.h>
#include <sys/un.h>

#include <cerrno>
#include <cstddef>
#include <cstring>

#include "tfd/process/fd.hpp"

namespace tfd::process {

Result<void> notify_service_manager(const Environment& env, std::string_view state) {
  const std::string path = env.get("NOTIFY_SOCKET");
  if (path.empty()) return {};
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if ((path[0] != '/' && path[0] != '@') || path.size() >= sizeof address.sun_path)
    return fail(Code::kInvalidArgument, "NOTIFY_SOCKET: '{}' is not the address of a Unix socket", path);
  std::memcpy(address.sun_path, path.data(), path.size());
  if (path[0] == '@') address.sun_path[0] = '\0';  // an abstract one
  const Fd fd(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  if (!fd) return fail_errno(errno, "cannot create a socket");
  const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + path.size());
  if (::sendto(fd.get(), state.data(), state.size(), MSG_NOSIGNAL, reinterpret_cast<const sockaddr*>(&address), size) <
      0)
    return fail_errno(errno, fmt::format("cannot notify {}", path));
  return {};
}

}  // namespace tfd::process
