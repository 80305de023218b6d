// SPDX-License-Identifier: Apache-2.0
//
// Is a host this one? Interfaces, our own name, the name service.
#include <arpa/inet.h>
#include <ifaddrs.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <memory>
#include <set>

#include "tfd/base/environment.hpp"
#include "tfd/launch/placement.hpp"
#include "tfd/process/fd.hpp"

namespace tfd::launch {
namespace {

std::string numeric(const sockaddr* address) {
  std::array<char, INET6_ADDRSTRLEN> text{};
  const void* from = nullptr;
  if (address->sa_family == AF_INET) from = &reinterpret_cast<const sockaddr_in*>(address)->sin_addr;
  if (address->sa_family == AF_INET6) from = &reinterpret_cast<const sockaddr_in6*>(address)->sin6_addr;
  if (from == nullptr || ::inet_ntop(address->sa_family, from, text.data(), text.size()) == nullptr) return "";
  return text.data();
}

/// The canonical text of a numeric address; empty for a name.
std::string numeric_form(const std::string& host) {
  in6_addr six{};
  in_addr four{};
  std::array<char, INET6_ADDRSTRLEN> text{};
  if (::inet_pton(AF_INET, host.c_str(), &four) == 1) return ::inet_ntop(AF_INET, &four, text.data(), text.size());
  if (::inet_pton(AF_INET6, host.c_str(), &six) == 1) return ::inet_ntop(AF_INET6, &six, text.data(), text.size());
  return "";
}

Result<std::set<std::string>> interface_addresses() {
  ifaddrs* list = nullptr;
  if (::getifaddrs(&list) != 0) return fail_errno(errno, "cannot list the network interfaces");
  const std::unique_ptr<ifaddrs, decltype(&::freeifaddrs)> owner(list, ::freeifaddrs);
  std::set<std::string> out;
  for (const ifaddrs* entry = list; entry != nullptr; entry = entry->ifa_next)
    if (entry->ifa_addr != nullptr) out.insert(numeric(entry->ifa_addr));
  out.erase("");
  return out;
}

/// IPv4 first, as peers look up a name.
std::vector<std::string> resolved(const std::string& host) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* list = nullptr;
  if (::getaddrinfo(host.c_str(), nullptr, &hints, &list) != 0) return {};
  const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> owner(list, ::freeaddrinfo);
  std::vector<std::string> four, six;
  for (const addrinfo* entry = list; entry != nullptr; entry = entry->ai_next)
    (entry->ai_family == AF_INET ? four : six).push_back(numeric(entry->ai_addr));
  four.insert(four.end(), six.begin(), six.end());
  return four;
}

bool is_loopback_text(const std::string& address) { return address == "::1" || address.starts_with("127."); }

bool is_wildcard(const std::string& address) { return address == "0.0.0.0" || address == "::"; }

}  // namespace

Result<std::string> address_towards(const cluster::Address& there) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_DGRAM;
  addrinfo* list = nullptr;
  const std::string shown = cluster::format_address(there);
  const int error = ::getaddrinfo(there.host.c_str(), std::to_string(there.port).c_str(), &hints, &list);
  if (error != 0) return fail(Code::kUnavailable, "{} can't be resolved: {}", shown, ::gai_strerror(error));
  const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> owner(list, ::freeaddrinfo);
  for (const addrinfo* entry = list; entry != nullptr; entry = entry->ai_next) {
    const process::Fd fd(::socket(entry->ai_family, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    if (!fd || ::connect(fd.get(), entry->ai_addr, entry->ai_addrlen) != 0) continue;  // sets the route alone
    sockaddr_storage own{};
    socklen_t size = sizeof own;
    if (::getsockname(fd.get(), reinterpret_cast<sockaddr*>(&own), &size) != 0) continue;
    if (std::string text = numeric(reinterpret_cast<const sockaddr*>(&own)); !text.empty()) return text;
  }
  return fail(Code::kUnavailable, "there is no route to {}", shown);
}

Result<LocalLookup> make_local_lookup() {
  return [addresses = TFD_TRY(interface_addresses()),
          own = host_name()](const std::string& host) -> std::optional<std::string> {
    if (const std::string plain = numeric_form(host); !plain.empty()) {
      const bool ours = is_loopback_text(plain) || is_wildcard(plain) || addresses.count(plain) > 0;
      return ours ? std::optional(plain) : std::nullopt;
    }
    if (host == "localhost") return "127.0.0.1";
    bool ours = host == own || host == own.substr(0, own.find('.')) || host.starts_with(own + ".");
    for (const std::string& address : resolved(host)) {
      if (!is_loopback_text(address) && addresses.count(address) > 0) return address;
      ours = ours || is_loopback_text(address);
    }
    return ours ? std::optional<std::string>("0.0.0.0") : std::nullopt;
  };
}

}  // namespace tfd::launch
