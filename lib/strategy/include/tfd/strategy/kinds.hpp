#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Table of the distribution strategies: their names, and how they differ. Thread rule: constants.
#include <cstdint>
#include <span>
#include <string_view>

namespace tfd::strategy {

/// Where variables are between steps.
enum class VariablePlace : std::uint8_t { kDevices, kHost, kServers };

struct Kind {
  std::string_view name;
  VariablePlace variables = VariablePlace::kDevices;
  bool is_of_one_host = true;    // everything is in one process; else workers are tasks of a cluster
  bool has_one_replica = false;  // never more
  bool has_topology = false;     // replicas are placed on a mesh, each on one or several cores
};

inline constexpr Kind kParameterServerKind{"parameter-server", VariablePlace::kServers, false};
inline constexpr Kind kMultiWorkerMirroredKind{"multi-worker-mirrored", VariablePlace::kDevices, false};
inline constexpr Kind kOneDeviceKind{.name = "one-device", .has_one_replica = true};
inline constexpr Kind kMirroredKind{.name = "mirrored"};
inline constexpr Kind kCentralStorageKind{"central-storage", VariablePlace::kHost};
inline constexpr Kind kTpuKind{.name = "tpu", .has_topology = true};

/// All kinds, in the order in which they are listed.
std::span<const Kind* const> kinds();
/// Finds a kind by name; null if there is none.
const Kind* find_kind(std::string_view name);

}  // namespace tfd::strategy
