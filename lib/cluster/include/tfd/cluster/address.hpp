#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Address of a task: HOST:PORT, [IPV6]:PORT. Thread rule: plain values.
#include <cstdint>
#include <string>
#include <string_view>

#include "tfd/base/error.hpp"

namespace tfd::cluster {

struct Address {
  std::string host;  // without brackets
  std::uint16_t port = 0;
  friend bool operator==(const Address&, const Address&) = default;
};

/// "h1:8888", "[::1]:8888".
std::string format_address(const Address& address);
/// kInvalidArgument: no port, port out of 0..65535 ("port 70000 out of range"), an IPv6 address without brackets, an
/// empty host, a character that no host name has.
Result<Address> parse_address(std::string_view text);
bool is_ipv6(const Address& address);
/// 127.0.0.0/8, ::1 or localhost.
bool is_loopback(const Address& address);
/// "grpc://h1:8888"; the bare address when the layer is empty. Source: tf.distribute format_master_url.
std::string format_url(std::string_view rpc_layer, std::string_view address);

}  // namespace tfd::cluster
