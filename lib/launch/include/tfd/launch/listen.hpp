#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// The sockets on which tasks listen. The supervisor makes them and hands them over, so that a restarted task keeps its
// address. Thread rule: plain values.
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

}  // namespace tfd::launch
