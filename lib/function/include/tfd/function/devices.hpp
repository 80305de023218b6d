#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Which devices a user asks for, and those that a PJRT plug-in sees, without compiling anything. Thread rule:
// thread-safe.
#include <string>
#include <string_view>
#include <vector>

#include "tfd/base/error.hpp"
#include "tfd/function/device.hpp"

namespace tfd::function {

/// Every device of the client that the plug-in makes, of other hosts too, by process and id. `cpu_devices` above 0 asks
/// a CPU plug-in for so many. Loads the plug-in and makes a client, which may take seconds, and lets the client go.
/// kFailedPrecondition: not a plug-in; else what the plug-in says: kFailedPrecondition, kNotFound, kUnavailable, …
Result<std::vector<DeviceInfo>> list_devices(const std::string& plugin, int cpu_devices = 0);

class Engine;
/// "cpu:0", "cpu:1"; by their ids, where the engine tells them apart.
std::vector<std::string> names_of_devices(const Engine& engine);

/// Devices of a plug-in that somebody asks for.
struct DeviceChoice {
  std::string kind = {};            // "cpu", "gpu", "tpu"; empty: whatever the plug-in is for
  std::vector<int> positions = {};  // among those of this process; empty: all of them
  int logical_devices = 1;          // so many of them, one after the other, are one replica's
  bool spmd = false;                // its functions are partitioned over these
  /// They are those of a system that isn't here (topology.hpp): a program is compiled for them, and not run.
  std::string topology = {};

  int replicas() const { return static_cast<int>(positions.size()) / logical_devices; }
};
/// The first so many, of whatever the plug-in is for.
DeviceChoice first_devices(int count);
/// "2" (the first two), "gpu:all", "cpu:0,cpu:1". kInvalidArgument: none of these, several kinds, a device twice, or
/// all of a CPU's, which has as many as one asks for.
Result<DeviceChoice> parse_device_choice(std::string_view text);
/// Whether a plug-in for this platform ("cpu", "cuda", "rocm", "tpu") is for devices of that kind.
bool is_of_kind(std::string_view platform, std::string_view kind);

}  // namespace tfd::function
