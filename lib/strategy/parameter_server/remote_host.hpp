#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// A worker's variables on parameter servers. Private to the room. Thread rule: as VariableHost.
#include <memory>

#include "device/variable_host.hpp"
#include "tfd/task/parameter_servers.hpp"

namespace tfd::strategy {

/// Makes a host on parameter servers, which are borrowed.
std::unique_ptr<VariableHost> make_remote_host(task::ParameterServers& servers, step::ReplicaCopies copies);

}  // namespace tfd::strategy
