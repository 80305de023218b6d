#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// The process that listens at an address of this host, for errors about a port that is taken. Thread rule: free
// functions; they read /proc.
#include <string>

#include "tfd/base/error.hpp"
#include "tfd/cluster/address.hpp"

namespace tfd::launch {

/// "python3, process 1234": the process that listens there, as far as /proc shows it to this user; else empty.
/// `address`: numeric, of this host.
std::string describe_port_owner(const cluster::Address& address);
/// Adds it to the error of a failed listen: "address already in use (python3, process 12)".
void name_port_owner(Error& error, const cluster::Address& address);

}  // namespace tfd::launch
