#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Key-value exchange between the hosts of one system of devices, stored in the coordination service. Thread rule:
// thread-safe, if the client's task is.
#include <memory>
#include <string>

#include "tfd/function/hosts.hpp"
#include "tfd/task/coordination.hpp"

namespace tfd::task {

/// Makes an exchange whose keys are the service's, in the client's scope, with this prefix, which must differ between
/// systems. If the service can't be reached it fails with kUnavailable, also for the plug-in.
std::shared_ptr<function::HostExchange> make_host_exchange(CoordinationClient client, std::string prefix);

}  // namespace tfd::task
