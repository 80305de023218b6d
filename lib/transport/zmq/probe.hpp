#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// What the operating system says about addresses; libzmq keeps its errors to itself. Thread rule: pure functions; none blocks.
#include <string>

#include "tfd/base/error.hpp"

namespace tfd::transport {

/// "127.0.0.1:41234", "[::1]:2222", "ipc:///path": what a listening socket is bound to.
Result<std::string> name_of_socket(int fd);

/// Why a connection to `address` just failed: tries itself, once. "connection refused"; "unreachable" if that can't be said
/// at once.
std::string why_unreachable(const std::string& address);

}  // namespace tfd::transport
