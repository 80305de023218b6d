#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// The mesh of a TPU system's cores, and which of them computes what: replicas, each of one or several logical cores.
// Thread rule: immutable values. Source: tensorflow/python/tpu/topology.py, device_assignment.py, 2.21.
//
//   const Topology mesh = TFD_TRY(Topology::full({2, 2, 1, 2}));            // one host, 4 chips of 2 cores
//   const auto assignment = TFD_TRY(DeviceAssignment::build(mesh, {.shape = {1, 1, 1, 2}, .num_replicas = 4}));
//   int second = TFD_TRY(assignment.ordinal(0, 1));                         // the device of a replica's second core
#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tfd/base/error.hpp"
#include "tfd/function/device.hpp"

namespace tfd::strategy {

/// x, y, z, and the core of a chip.
using Coordinates = std::array<int, 4>;

class Topology {
 public:
  /// Coordinates of every device, by task and its ordinal there; each task has as many. Of two devices at one place the
  /// last counts. kInvalidArgument: a mesh that isn't four positive numbers, coordinates outside of it, tasks that
  /// differ.
  static Result<Topology> make(const std::vector<std::int64_t>& mesh_shape,
                               std::vector<std::vector<Coordinates>> device_coordinates);
  /// A topology of the numbers in TensorFlow's TopologyProto: of each task's devices in turn, four coordinates each.
  /// kInvalidArgument: counts below zero, too many or too few coordinates; and as make().
  static Result<Topology> from_numbers(const std::vector<std::int64_t>& mesh_shape, std::int64_t num_tasks,
                                       std::int64_t devices_per_task, const std::vector<std::int64_t>& coordinates);
  /// One task with a device at every place: cores of a chip first, then x, y, z.
  static Result<Topology> full(const std::vector<std::int64_t>& mesh_shape);

  const Coordinates& mesh_shape() const { return mesh_; }
  int num_tasks() const { return static_cast<int>(devices_.size()); }
  int num_devices_per_task() const { return devices_.empty() ? 0 : static_cast<int>(devices_.front().size()); }
  const std::vector<std::vector<Coordinates>>& device_coordinates() const { return devices_; }
  /// Places without a device, in the order of x, y, z, core.
  std::vector<Coordinates> missing_devices() const;

  struct Place {
    int task = 0;
    int ordinal = 0;  // of the device within its task
  };
  /// kOutOfRange outside of the mesh; kNotFound where there is no device.
  Result<Place> find(const Coordinates& at) const;
  /// "/job:worker/task:0/device:TPU:3"; without a job from "/task" on. Errors as find().
  Result<std::string> tpu_device(const Coordinates& at, std::string_view job = {}) const;
  Result<std::string> cpu_device(const Coordinates& at, std::string_view job = {}) const;

 private:
  Coordinates mesh_{};
  std::vector<std::vector<Coordinates>> devices_;
  std::map<Coordinates, Place> places_;
};

/// How replicas that follow each other are placed: on a ring of chips where the whole mesh is used and each takes whole
/// chips (kAuto; kRing insists on it), else one row of the mesh after the other.
enum class DeviceOrder : std::uint8_t { kAuto, kRing, kMesh };

struct ComputationShape {
  std::vector<std::int64_t> shape = {1, 1, 1, 1};   // cores of a replica, along each axis of the mesh
  std::vector<std::int64_t> stride = {1, 1, 1, 1};  // between these
  std::int64_t num_replicas = 1;
  DeviceOrder order = DeviceOrder::kAuto;
};

class DeviceAssignment {
 public:
  /// As many replicas of that shape. kInvalidArgument: what isn't four positive numbers, doesn't fit into the mesh, or
  /// a ring where there can't be one.
  static Result<DeviceAssignment> build(Topology topology, const ComputationShape& computation);
  /// By replica and logical core. kInvalidArgument: not as many cores for each replica.
  static Result<DeviceAssignment> make(Topology topology, std::vector<std::vector<Coordinates>> core_assignment);

  const Topology& topology() const { return topology_; }
  int num_replicas() const { return static_cast<int>(cores_.size()); }
  int num_cores_per_replica() const { return cores_.empty() ? 0 : static_cast<int>(cores_.front().size()); }
  const std::vector<std::vector<Coordinates>>& core_assignment() const { return cores_; }
  const Coordinates& coordinates(int replica, int logical_core) const {
    return cores_[static_cast<std::size_t>(replica)][static_cast<std::size_t>(logical_core)];
  }
  /// Of the device within its task. kNotFound where there is no device.
  Result<int> ordinal(int replica, int logical_core) const;
  Result<std::string> tpu_device(int replica, int logical_core, std::string_view job = {}) const;
  Result<std::string> host_device(int replica, int logical_core, std::string_view job = {}) const;
  /// Replicas that have this logical core on that task, ascending. kNotFound: none.
  Result<std::vector<int>> lookup_replicas(int task, int logical_core) const;

 private:
  DeviceAssignment(Topology topology, std::vector<std::vector<Coordinates>> cores)
      : topology_(std::move(topology)), cores_(std::move(cores)) {}
  Topology topology_;
  std::vector<std::vector<Coordinates>> cores_;
};

/// Of what a plug-in says of its devices: the smallest mesh that has them all. kNotFound: they have no coordinates.
Result<Topology> topology_of(const std::vector<function::DeviceInfo>& devices);
/// "2x2x1x2", "1,1,1,2". kInvalidArgument.
Result<std::vector<std::int64_t>> parse_mesh_shape(std::string_view text);

}  // namespace tfd::strategy
