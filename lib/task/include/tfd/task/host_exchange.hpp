#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// What the hosts of one system of devices tell each other, kept by the coordination service. Thread rule: thread-safe,
// if the client's task is.
#include <memory>
#include <string>

#include "tfd/function/hosts.hpp"
#include "tfd/task/coordination.hpp"

namespace tfd::task {

/// Keys are the service's, in the client's scope, behind the prefix: one for each system, or their keys collide. A
/// service that can't be reached is kUnavailable, to the plug-in too.
std::shared_ptr<function::HostExchange> make_host_exchange(CoordinationClient client, std::string prefix);

}  // namespace tfd::task
