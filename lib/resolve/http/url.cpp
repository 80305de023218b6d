// SPDX-License-Identifier: Apache-2.0
#include "url.hpp"

#include <arpa/inet.h>
#include <strings.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <vector>

#include "tfd/base/text.hpp"

namespace tfd::resolve::http {
namespace {

constexpr std::size_t kLongest = 300;

bool same(std::string_view a, std::string_view b) {
  return a.size() == b.size() && ::strncasecmp(a.data(), b.data(), a.size()) == 0;
}

/// 4 or 16 bytes; empty for a name.
std::vector<unsigned char> address_bytes(std::string_view text) {
  const std::string copy(text.substr(0, text.find('%')));  // a zone is no part of the address
  std::vector<unsigned char> out(16);
  if (::inet_pton(AF_INET6, copy.c_str(), out.data()) == 1) return out;
  out.resize(4);
  if (::inet_pton(AF_INET, copy.c_str(), out.data()) == 1) return out;
  return {};
}

std::optional<int> number(std::string_view text) {
  int out = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return out;
}

bool in_network(const std::vector<unsigned char>& address, const std::vector<unsigned char>& network, int bits) {
  if (address.empty() || address.size() != network.size() || bits < 0 || bits > static_cast<int>(address.size()) * 8)
    return false;
  for (std::size_t i = 0; i < address.size() && bits > 0; ++i, bits -= 8) {
    const unsigned mask = bits >= 8 ? 0xffU : 0xff00U >> static_cast<unsigned>(bits) & 0xffU;
    if (((address[i] ^ network[i]) & mask) != 0) return false;
  }
  return true;
}

/// One entry of the list.
bool entry_matches(std::string_view entry, std::string_view host, int port) {
  if (entry == "*") return true;
  const std::vector<unsigned char> address = address_bytes(host);
  if (const std::size_t slash = entry.find('/'); slash != std::string_view::npos) {
    const std::optional<int> bits = number(entry.substr(slash + 1));
    return bits && in_network(address, address_bytes(entry.substr(0, slash)), *bits);
  }
  std::string_view name = entry;
  if (name.starts_with('[')) {
    const std::size_t end = name.find(']');
    if (end == std::string_view::npos) return false;
    const std::string_view rest = name.substr(end + 1);
    name = name.substr(1, end - 1);
    if (!rest.empty() && (rest.front() != ':' || number(rest.substr(1)) != port)) return false;
  } else if (std::count(name.begin(), name.end(), ':') == 1) {
    if (number(name.substr(name.find(':') + 1)) != port) return false;
    name = name.substr(0, name.find(':'));
  }
  if (!address.empty()) return address == address_bytes(name);
  if (name.starts_with("*.")) name.remove_prefix(1);
  if (name.starts_with('.')) name.remove_prefix(1);
  if (name.ends_with('.')) name.remove_suffix(1);
  if (name.empty() || host.size() < name.size()) return false;
  const std::string_view tail = host.substr(host.size() - name.size());
  return same(tail, name) && (host.size() == name.size() || host[host.size() - name.size() - 1] == '.');
}

bool is_loopback(std::string_view host) {
  if (same(host, "localhost")) return true;
  const std::vector<unsigned char> address = address_bytes(host);
  return in_network(address, {127, 0, 0, 0}, 8) || (address.size() == 16 && address == address_bytes("::1"));
}

}  // namespace

std::string url_for_messages(std::string_view url) {
  url = url.substr(0, url.find_first_of("?#"));
  std::string out;
  if (const std::size_t scheme = url.find("://"); scheme != std::string_view::npos && scheme < 16) {
    out = url.substr(0, scheme + 3);
    url.remove_prefix(scheme + 3);
  }
  // Everything before an @ may be a password, even with a slash, a backslash or another @.
  if (const std::size_t at = url.rfind('@'); at != std::string_view::npos) url.remove_prefix(at + 1);
  out += url;
  if (out.size() > kLongest) out.replace(kLongest, std::string::npos, "…");
  return printable(out);
}

bool matches_no_proxy(std::string_view list, std::string_view host, int port) {
  if (host.ends_with('.')) host.remove_suffix(1);
  while (!list.empty()) {
    const std::size_t end = std::min(list.find_first_of(", \t"), list.size());
    if (end > 0 && entry_matches(list.substr(0, end), host, port)) return true;
    list.remove_prefix(std::min(end + 1, list.size()));
  }
  return false;
}

bool is_metadata_server(std::string_view host) {
  if (host.ends_with('.')) host.remove_suffix(1);
  if (same(host, "metadata.google.internal")) return true;
  const std::vector<unsigned char> address = address_bytes(host);
  return !address.empty() && (address == address_bytes("169.254.169.254") || address == address_bytes("fd20:ce::254"));
}

std::string find_proxy(const Environment& env, std::string_view scheme, std::string_view host, int port) {
  if (is_metadata_server(host) || is_loopback(host)) return "";
  const auto first = [&](std::initializer_list<std::string_view> names) -> std::string {
    for (const std::string_view name : names)
      if (const std::optional<std::string> value = env.find(name); value && !value->empty()) return *value;
    return "";
  };
  // HTTP_PROXY in capitals isn't read: a CGI program has a client's header "Proxy:" in it.
  std::string proxy = same(scheme, "https") ? first({"https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"})
                                            : first({"http_proxy", "all_proxy", "ALL_PROXY"});
  if (proxy.empty() || matches_no_proxy(first({"no_proxy", "NO_PROXY"}), host, port)) return "";
  return proxy;
}

}  // namespace tfd::resolve::http
