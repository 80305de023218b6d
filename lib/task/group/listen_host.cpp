// SPDX-License-Identifier: Apache-2.0
#include "listen_host.hpp"

#include <netdb.h>
#include <sys/socket.h>

#include <array>

#include "tfd/base/text.hpp"
#include "tfd/cluster/address.hpp"

namespace tfd::task {
namespace {

/// The address of a host by name: the first that the resolver knows.
Result<std::string> resolve(const std::string& host) {
  addrinfo hints{}, *found = nullptr;
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  const int error = ::getaddrinfo(host.c_str(), nullptr, &hints, &found);
  if (error != 0) return fail(Code::kUnavailable, "{} can't be resolved: {}", printable(host), ::gai_strerror(error));
  std::array<char, NI_MAXHOST> text{};
  const int named =
      ::getnameinfo(found->ai_addr, found->ai_addrlen, text.data(), text.size(), nullptr, 0, NI_NUMERICHOST);
  ::freeaddrinfo(found);
  if (named != 0) return fail(Code::kUnavailable, "{} can't be resolved", printable(host));
  return std::string(text.data());
}

}  // namespace

Result<std::string> host_to_listen_at(const GroupOptions& options) {
  const auto& [name, text] = options.members[static_cast<std::size_t>(options.rank)];
  const cluster::Address own = TFD_TRY(cluster::parse_address(text), name);
  if (!cluster::is_loopback(own) && !options.has_key && !options.is_insecure)
    return fail(
        Code::kPermissionDenied,
        "{} is at {}, where other hosts can connect, and there is no key: make one with tfd-serve --generate-key, or "
        "say --insecure",
        name, printable(text));
  return resolve(own.host);
}

}  // namespace tfd::task
