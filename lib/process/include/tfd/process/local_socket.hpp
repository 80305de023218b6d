#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Unix sockets in the abstract namespace, which is that of the network namespace: names without files, which would have
// to be deleted. And messages that carry a descriptor. Everything is non-blocking and close-on-exec.
// Thread rule: pure functions.
#include <cstddef>
#include <span>
#include <string_view>

#include "tfd/base/error.hpp"
#include "tfd/process/fd.hpp"

namespace tfd::process {

/// Both ends of a connection of this process with itself, or with whoever is handed one. kSystem, and other codes of
/// fail_errno().
struct LocalPair {
  Fd one, other;
};
Result<LocalPair> make_local_pair();

/// Listens under a name of at most 107 bytes. kSystem, and other codes of fail_errno().
Result<Fd> listen_locally(std::string_view name, int backlog = 1024);
/// Connects at once, or not at all: kUnavailable says that nobody listens, or that too many wait.
Result<Fd> connect_locally(std::string_view name);
/// True if the process at the other end was this one's user when it connected or listened.
bool is_own_user(int socket);

/// Sends `bytes` and a descriptor as one message. kUnavailable: the socket is full, or the other end is closed.
Result<void> send_with_descriptor(int socket, std::span<const std::byte> bytes, int descriptor);
/// Receives as many bytes as there is room for at `to`, and the descriptor that came with them, which may be none.
/// kUnavailable: nothing has come; kAborted: nothing will; kInvalidArgument: fewer bytes.
Result<Fd> receive_with_descriptor(int socket, std::span<std::byte> to);

/// Wakes a process that waits until its end of the socket can be read.
void ring_bell(int socket);
/// Whether a socket that is watched by epoll (EPOLLET) is heard each time it rings, though nobody reads it, for
/// kUnreadBells at least: Linux, unless its sockets' buffers were made small. It is tried once.
bool hears_unread_bells();
inline constexpr int kUnreadBells = 64;
/// Reads all that rang there. False: the other end is closed.
bool answer_bell(int socket);
/// The same for a connection that may carry a descriptor: sets `brought` to it.
bool answer_bell(int socket, Fd& brought);

}  // namespace tfd::process
