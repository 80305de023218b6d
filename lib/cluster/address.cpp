// SPDX-License-Identifier: Apache-2.0
#include "tfd/cluster/address.hpp"

#include <arpa/inet.h>

#include <algorithm>
#include <charconv>

#include "tfd/base/text.hpp"

namespace tfd::cluster {
namespace {

bool is_host_character(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' || c == '-' || c == '_';
}

/// The 16 bytes, without a zone ("fe80::1%eth0").
std::optional<in6_addr> parse_ipv6(std::string_view host) {
  in6_addr bytes{};
  if (inet_pton(AF_INET6, std::string(host.substr(0, host.find('%'))).c_str(), &bytes) != 1) return std::nullopt;
  return bytes;
}

Result<std::uint16_t> parse_port(std::string_view text, std::string_view whole) {
  if (text.empty()) return fail(Code::kInvalidArgument, "'{}' has no port (expected HOST:PORT)", printable(whole));
  if (!std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; }))
    return fail(Code::kInvalidArgument, "port '{}' is not a number", printable(text));
  unsigned value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || value > 65535) return fail(Code::kInvalidArgument, "port {} out of range", text);
  return static_cast<std::uint16_t>(value);
}

}  // namespace

std::string format_address(const Address& address) {
  return is_ipv6(address) ? fmt::format("[{}]:{}", address.host, address.port)
                          : fmt::format("{}:{}", address.host, address.port);
}

Result<Address> parse_address(std::string_view text) {
  if (text.empty()) return fail(Code::kInvalidArgument, "empty address (expected HOST:PORT)");
  if (text.front() == '[') {
    const std::size_t close = text.find(']');
    if (close == std::string_view::npos || close + 1 >= text.size() || text[close + 1] != ':')
      return fail(Code::kInvalidArgument, "'{}' is not [IPV6]:PORT", printable(text));
    const std::string_view host = text.substr(1, close - 1);
    if (!parse_ipv6(host)) return fail(Code::kInvalidArgument, "'{}' is not an IPv6 address", printable(host));
    const std::uint16_t port = TFD_TRY(parse_port(text.substr(close + 2), text));
    return Address{std::string(host), port};
  }
  const std::size_t colon = text.find(':');
  if (colon == std::string_view::npos)
    return fail(Code::kInvalidArgument, "'{}' has no port (expected HOST:PORT)", printable(text));
  const std::string_view host = text.substr(0, colon);
  if (text.find(':', colon + 1) != std::string_view::npos)
    return fail(Code::kInvalidArgument, "'{}': an IPv6 address needs brackets ([IPV6]:PORT)", printable(text));
  if (host.empty()) return fail(Code::kInvalidArgument, "'{}' has no host (expected HOST:PORT)", printable(text));
  const auto odd = std::find_if_not(host.begin(), host.end(), is_host_character);
  if (odd != host.end()) return fail(Code::kInvalidArgument, "'{}' is not a host name", printable(host));
  const std::uint16_t port = TFD_TRY(parse_port(text.substr(colon + 1), text));
  return Address{std::string(host), port};
}

bool is_ipv6(const Address& address) { return address.host.find(':') != std::string::npos; }

bool is_loopback(const Address& address) {
  if (address.host == "localhost") return true;
  in_addr v4{};
  if (inet_pton(AF_INET, address.host.c_str(), &v4) == 1) return (ntohl(v4.s_addr) >> 24) == 127;
  const auto v6 = parse_ipv6(address.host);
  if (!v6) return false;
  return IN6_IS_ADDR_LOOPBACK(&*v6) || (IN6_IS_ADDR_V4MAPPED(&*v6) && v6->s6_addr[12] == 127);
}

std::string format_url(std::string_view rpc_layer, std::string_view address) {
  return rpc_layer.empty() ? std::string(address) : fmt::format("{}://{}", rpc_layer, address);
}

}  // namespace tfd::cluster
