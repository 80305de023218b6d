#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Decides which tasks of a cluster are served on this host, and where each one binds. Source: design, "Which tasks".
// Thread rule: pure functions; a LocalLookup may ask the name service and block.
#include <functional>
#include <string>
#include <vector>

#include "tfd/cluster/cluster_config.hpp"

namespace tfd::launch {

/// Maps an address's host to the address to bind to; nullopt if it isn't this host.
using LocalLookup = std::function<std::optional<std::string>(const std::string& host)>;
/// Makes a lookup by the addresses of this host's interfaces, its name, and the name service. A host name that leads
/// only to loopback (Debian's 127.0.1.1) is bound to all interfaces, for others reach it from outside.
Result<LocalLookup> make_local_lookup();

/// The numeric address of this host from which it reaches `there`. Nothing is sent. kUnavailable where the name service
/// or the routes don't know it.
Result<std::string> address_towards(const cluster::Address& there);

struct Placed {
  cluster::TaskId id;
  cluster::Address bind;  // numeric host; port 0: any
};

struct Placement {
  std::vector<Placed> served;
  std::vector<Placed>
      reserved;  // chief and evaluator of this host with port 0: they get a free port, but aren't served
};

/// Returns `config.task` alone (bound to all interfaces if its address isn't local) or, without it, every worker and ps
/// of this host. `bind_host` replaces the host to bind to where it isn't empty. kInvalidArgument: an address that isn't
/// one, no such task, port 0 of a worker or ps that isn't started here, a task that tfd doesn't serve (the chief).
/// kFailedPrecondition: no task is on this host.
Result<Placement> place_tasks(const cluster::ClusterConfig& config, const LocalLookup& lookup,
                              const std::string& bind_host);

/// Returns the tasks that a launcher starts here, of whatever job: `config.task` alone (bound to all interfaces if its
/// address isn't local; no address for an evaluator that the cluster doesn't list) or, without it, all of this host.
/// kInvalidArgument: an address that isn't one, no such task, port 0 of a task of another host. kFailedPrecondition: no
/// task is on this host.
Result<std::vector<Placed>> place_members(const cluster::ClusterConfig& config, const LocalLookup& lookup);

/// Replaces the port in a task's address, which is valid.
void set_port(cluster::ClusterConfig& config, const cluster::TaskId& id, std::uint16_t port);

}  // namespace tfd::launch
