#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Accelerators that this machine's PCI bus has, found without a plug-in or a driver, and what plug-ins they need.
// Thread rule: free functions.
#include <optional>
#include <string>
#include <string_view>

#include "tfd/base/error.hpp"

namespace tfd::function {

/// Numbers of devices. Not counted are those that a virtual machine reaches otherwise, as in WSL.
struct Accelerators {
  int nvidia = 0;  // GPUs
  int amd = 0;     // GPUs
  int tpu = 0;     // Google's devices that are neither network cards nor disks
};
/// Reads the folder's "vendor" and "class" files. nullopt: this machine has no such folder, so nothing is known.
std::optional<Accelerators> find_accelerators(const std::string& folder = "/sys/bus/pci/devices");

/// kFailedPrecondition: the plug-in isn't for devices of this kind ("gpu"). Says what brings one that is.
Error wrong_kind(std::string_view plugin, std::string_view platform, std::string_view kind);

}  // namespace tfd::function
