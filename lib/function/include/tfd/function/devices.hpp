#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Parses a user's choice of devices, and lists those that a PJRT plug-in sees, without compiling anything. Thread rule:
// thread-safe.
#include <string>
#include <string_view>
#include <vector>

#include "tfd/base/error.hpp"
#include "tfd/function/device.hpp"

namespace tfd::function {

/// Lists every device of a client, including other hosts', by process and id. `cpu_devices` above 0 asks a CPU plug-in
/// for that many. Loads the plug-in and makes a client, which may take seconds, and destroys the client.
/// kFailedPrecondition: not a plug-in; else the plug-in's error: kFailedPrecondition, kNotFound, kUnavailable, …
Result<std::vector<DeviceInfo>> list_devices(const std::string& plugin, int cpu_devices = 0);
/// The same, with the index of this process among the processes that own the devices.
struct SystemDevices {
  std::vector<DeviceInfo> devices;
  int process_index = 0;
};
Result<SystemDevices> list_system(const std::string& plugin, int cpu_devices = 0);

class Engine;
/// Names of the devices: "cpu:0", "cpu:1"; by their ids, if the engine knows them.
std::vector<std::string> names_of_devices(const Engine& engine);

/// Devices of a plug-in that were asked for.
struct DeviceChoice {
  std::string kind = {};            // "cpu", "gpu", "tpu"; empty: whatever the plug-in is for
  std::vector<int> positions = {};  // among those of this process; empty: all of them
  int logical_devices = 1;          // number of consecutive devices that form one replica
  bool spmd = false;                // its functions are partitioned over these
  /// Name of a system without its hardware (topology.hpp), whose devices these are: programs are compiled for them, not
  /// run.
  std::string topology = {};

  int replicas() const { return static_cast<int>(positions.size()) / logical_devices; }
};
/// Chooses the first `count` devices, whatever the plug-in's platform.
DeviceChoice first_devices(int count);
/// "2" (the first two), "gpu:all", "cpu:0,cpu:1". kInvalidArgument: another form, several kinds, a device twice, or
/// "cpu:all", since a CPU has as many devices as one asks for.
Result<DeviceChoice> parse_device_choice(std::string_view text);
/// Whether a plug-in for this platform ("cpu", "cuda", "rocm", "tpu") is for devices of that kind.
bool is_of_kind(std::string_view platform, std::string_view kind);

}  // namespace tfd::function
