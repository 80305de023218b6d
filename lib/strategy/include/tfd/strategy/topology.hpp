#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// The mesh of a TPU system's cores, and their assignment to replicas, each of one or several logical cores.
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
  /// Makes a topology from every device's coordinates, by task and ordinal; tasks have equally many. If two devices
  /// have equal coordinates, the last counts. kInvalidArgument: a mesh that isn't four positive numbers, coordinates
  /// outside of it, tasks that differ.
  static Result<Topology> make(const std::vector<std::int64_t>& mesh_shape,
                               std::vector<std::vector<Coordinates>> device_coordinates);
  /// Makes a topology from the numbers in TensorFlow's TopologyProto: each task's devices in turn, four coordinates
  /// each. kInvalidArgument: negative counts, too many or too few coordinates; and as make().
  static Result<Topology> from_numbers(const std::vector<std::int64_t>& mesh_shape, std::int64_t num_tasks,
                                       std::int64_t devices_per_task, const std::vector<std::int64_t>& coordinates);
  /// Makes a topology of one task with a device at every coordinate: cores of a chip first, then x, y, z.
  static Result<Topology> full(const std::vector<std::int64_t>& mesh_shape);

  const Coordinates& mesh_shape() const { return mesh_; }
  int num_tasks() const { return static_cast<int>(devices_.size()); }
  int num_devices_per_task() const { return devices_.empty() ? 0 : static_cast<int>(devices_.front().size()); }
  const std::vector<std::vector<Coordinates>>& device_coordinates() const { return devices_; }
  /// Coordinates without a device, in the order of x, y, z, core.
  std::vector<Coordinates> missing_devices() const;

  struct Place {
    int task = 0;
    int ordinal = 0;  // index of the device within its task
  };
  /// Finds a device. kOutOfRange outside of the mesh; kNotFound if there is no device.
  Result<Place> find(const Coordinates& at) const;
  /// Name of a device, "/job:worker/task:0/device:TPU:3"; without a job from "/task" on. Errors as find().
  Result<std::string> tpu_device(const Coordinates& at, std::string_view job = {}) const;
  Result<std::string> cpu_device(const Coordinates& at, std::string_view job = {}) const;

 private:
  Coordinates mesh_{};
  std::vector<std::vector<Coordinates>> devices_;
  std::map<Coordinates, Place> places_;
};

/// Placement of consecutive replicas: on a ring of chips if the whole mesh is used and each takes whole chips (kAuto;
/// kRing requires it), else row by row of the mesh.
enum class DeviceOrder : std::uint8_t { kAuto, kRing, kMesh };

struct ComputationShape {
  std::vector<std::int64_t> shape = {1, 1, 1, 1};   // a replica's cores along each axis of the mesh
  std::vector<std::int64_t> stride = {1, 1, 1, 1};  // between these
  std::int64_t num_replicas = 1;
  DeviceOrder order = DeviceOrder::kAuto;
};

class DeviceAssignment {
 public:
  /// Assigns `num_replicas` replicas of that shape. kInvalidArgument: a shape that isn't four positive numbers or
  /// doesn't fit into the mesh, or an impossible ring.
  static Result<DeviceAssignment> build(Topology topology, const ComputationShape& computation);
  /// Makes an assignment from coordinates by replica and logical core. kInvalidArgument: different numbers of cores per
  /// replica.
  static Result<DeviceAssignment> make(Topology topology, std::vector<std::vector<Coordinates>> core_assignment);

  const Topology& topology() const { return topology_; }
  int num_replicas() const { return static_cast<int>(cores_.size()); }
  int num_cores_per_replica() const { return cores_.empty() ? 0 : static_cast<int>(cores_.front().size()); }
  const std::vector<std::vector<Coordinates>>& core_assignment() const { return cores_; }
  const Coordinates& coordinates(int replica, int logical_core) const {
    return cores_[static_cast<std::size_t>(replica)][static_cast<std::size_t>(logical_core)];
  }
  /// Index of the device within its task. kNotFound if there is no device.
  Result<int> ordinal(int replica, int logical_core) const;
  Result<std::string> tpu_device(int replica, int logical_core, std::string_view job = {}) const;
  Result<std::string> host_device(int replica, int logical_core, std::string_view job = {}) const;
  /// Replicas whose logical core of this index is on that task, ascending. kNotFound: none.
  Result<std::vector<int>> lookup_replicas(int task, int logical_core) const;

 private:
  DeviceAssignment(Topology topology, std::vector<std::vector<Coordinates>> cores)
      : topology_(std::move(topology)), cores_(std::move(cores)) {}
  Topology topology_;
  std::vector<std::vector<Coordinates>> cores_;
};

/// Makes the topology of a plug-in's devices: the smallest mesh that contains them all. kNotFound: they have no
/// coordinates.
Result<Topology> topology_of(const std::vector<function::DeviceInfo>& devices);
/// Parses "2x2x1x2", "1,1,1,2". kInvalidArgument.
Result<std::vector<std::int64_t>> parse_mesh_shape(std::string_view text);

}  // namespace tfd::strategy
