#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Whether the devices of a group's members are one system, so that a step is one program for all of them, with its
// all-reduce on the devices. Private to the room. Thread rule: plain values, pure functions.
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tfd/function/function.hpp"
#include "tfd/strategy/device_training.hpp"

namespace tfd::strategy {

/// One member's devices.
struct MemberDevices {
  std::string platform;
  int hosts = 1;         // of the system that they are of
  std::vector<int> ids;  // in the system, replica by replica
  friend bool operator==(const MemberDevices&, const MemberDevices&) = default;
};
MemberDevices devices_of(const function::Engine& engine);
std::string format_devices(const MemberDevices& devices);
/// kProtocolMismatch.
Result<MemberDevices> parse_devices(std::string_view text);

/// The devices of all replicas, by rank and replica; empty: they aren't one system. `why` says it then, if some of them
/// are accelerators, or of a system; else it is about CPUs, and empty. `logical_devices`: of a replica.
std::vector<std::vector<int>> join_devices(const std::vector<MemberDevices>& members, int logical_devices,
                                           std::string& why);

/// Reason why steps of a program aren't programs for the devices of all members; nullopt: they are.
std::optional<std::string> why_not_over_hosts(const program::Program& program, StepMode step, int replicas,
                                              const std::string& platform);

}  // namespace tfd::strategy
