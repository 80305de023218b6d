#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// TCP sockets by numeric addresses, "10.0.0.3:41231" or "[::1]:41231": non-blocking, close-on-exec, without
// Nagle's delay, and closed where the other host is gone for two minutes. Thread rule: pure functions.
#include <string>

#include "tfd/base/deadline.hpp"
#include "tfd/base/error.hpp"
#include "tfd/process/fd.hpp"

namespace tfd::process {

struct TcpListener {
  Fd socket;
  std::string address;
};
/// Listens at a port of its own of this address. kInvalidArgument: it is none. kSystem, and other codes of
/// fail_errno().
Result<TcpListener> listen_by_tcp(const std::string& host, int backlog = 1024);
/// Starts to connect: it stands when the socket can be written to. kInvalidArgument: not such an address.
Result<Fd> start_connecting_by_tcp(const std::string& address);
/// The error of a connection that was started; 0: it stands.
int connection_error(int socket);
/// Has the kernel ask the other host of an idle connection whether it's there, several times within `silence`; a host
/// that doesn't answer for a little longer than that ends the connection.
void expect_answers(int socket, Duration silence);
/// True if the other host hasn't acknowledged or answered anything sent to it, and has sent nothing, for `since`. A
/// process there that doesn't read makes no difference, since its kernel answers. False for sockets other than TCP.
bool awaits_answer(int socket, Duration since);
/// True if this numeric address belongs to this host, in its network namespace: whatever refuses a connection to it is
/// this host's kernel. False if that isn't known.
bool is_own_address(const std::string& host);
/// The next connection that waits; none: there is none now, as errno says.
Fd accept_connection(int listener);

}  // namespace tfd::process
