#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// The devices that a PJRT plug-in sees, without compiling anything. Thread rule: thread-safe.
#include <string>
#include <vector>

#include "tfd/base/error.hpp"
#include "tfd/function/device.hpp"

namespace tfd::function {

/// Every device of the client that the plug-in makes, of other hosts too, by process and id. `cpu_devices` above 0 asks
/// a CPU plug-in for so many. Loads the plug-in and makes a client, which may take seconds, and lets the client go.
/// kFailedPrecondition: not a plug-in; else what the plug-in says: kFailedPrecondition, kNotFound, kUnavailable, …
Result<std::vector<DeviceInfo>> list_devices(const std::string& plugin, int cpu_devices = 0);

}  // namespace tfd::function
