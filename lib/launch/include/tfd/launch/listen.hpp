#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// The sockets on which tasks listen. The supervisor makes them and hands them over, so that a restarted task keeps its
// address. Thread rule: plain values, and functions without state.
#include <string>

#include "tfd/base/error.hpp"
#include "tfd/cluster/address.hpp"
#include "tfd/process/fd.hpp"

namespace tfd::launch {

struct Listener {
  process::Fd fd;            // close-on-exec, non-blocking, SO_REUSEADDR
  cluster::Address address;  // with the real port
};

/// `address.host` is numeric, port 0 is any free one. kSystem: "cannot bind 0.0.0.0:2222: address already in use";
/// kPermissionDenied for a privileged port; kInvalidArgument for a host that isn't numeric.
Result<Listener> listen_on(const cluster::Address& address);
/// Binds without listening: while it is held no other process gets the port by chance, but one that asks for exactly
/// this port with SO_REUSEADDR (as gRPC does) can listen on it.
Result<Listener> reserve_port(const cluster::Address& address);

// ---- The process that listens at an address of this host, for errors about a port that is taken.

/// "python3, process 1234": the process that listens there, as far as /proc shows it to this user; else empty.
/// `address`: numeric, of this host.
std::string describe_port_owner(const cluster::Address& address);
/// Adds it to the error of a failed listen: "address already in use (python3, process 12)".
void name_port_owner(Error& error, const cluster::Address& address);

}  // namespace tfd::launch
