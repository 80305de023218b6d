#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// URLs in messages, and which proxy a URL goes through. Thread rule: pure functions.
#include <string>
#include <string_view>

#include "tfd/base/environment.hpp"

namespace tfd::resolve::http {

/// The URL without user, password, query and fragment, which may hold credentials; printable and not too long.
std::string url_for_messages(std::string_view url);

/// The proxy that https_proxy, HTTPS_PROXY, http_proxy, all_proxy and ALL_PROXY name for `scheme`, lower case first;
/// empty if there is none, or if no_proxy or NO_PROXY names the host. Never for metadata servers, localhost and
/// loopback addresses. Source: curl(1); loopback as Go's net/http.
std::string find_proxy(const Environment& env, std::string_view scheme, std::string_view host, int port);

/// Whether `host` (an IPv6 address without brackets) is in a list like NO_PROXY: hosts with all that is below them,
/// addresses, networks (10.0.0.0/8, fd00::/8), each with a port or none, or `*`.
bool matches_no_proxy(std::string_view list, std::string_view host, int port);

/// 169.254.169.254, fd20:ce::254, metadata.google.internal: answers depend on the asking machine.
bool is_metadata_server(std::string_view host);

}  // namespace tfd::resolve::http
