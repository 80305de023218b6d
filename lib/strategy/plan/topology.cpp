// SPDX-License-Identifier: Apache-2.0
#include "tfd/strategy/topology.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <tuple>

#include "tfd/base/text.hpp"
#include "tfd/base/units.hpp"

namespace tfd::strategy {
namespace {

constexpr std::size_t kRank = std::tuple_size_v<Coordinates>;
constexpr std::int64_t kMostCores = 1 << 20;

std::string listed(const auto& numbers) { return fmt::format("[{}]", fmt::join(numbers, " ")); }

std::int64_t product(const Coordinates& numbers) {
  return std::accumulate(numbers.begin(), numbers.end(), std::int64_t{1}, std::multiplies<>());
}

Result<Coordinates> positive_numbers(std::string_view what, const std::vector<std::int64_t>& numbers) {
  if (numbers.size() != kRank || std::ranges::any_of(numbers, [](std::int64_t one) { return one < 1; }))
    return fail(Code::kInvalidArgument, "{} must be {} positive entries (x, y, z, core), not the {} of {}", what, kRank,
                numbers.size(), listed(numbers));
  Coordinates out;
  for (std::size_t i = 0; i < kRank; ++i) {
    if (numbers[i] > kMostCores) return fail(Code::kInvalidArgument, "{} is too large: {}", what, listed(numbers));
    out[i] = static_cast<int>(numbers[i]);
  }
  return out;
}

/// Visits all coordinates, the core fastest.
template <class ContextGuard>
void for_places(const Coordinates& shape, ContextGuard visit) {
  for (int x = 0; x < shape[0]; ++x)
    for (int y = 0; y < shape[1]; ++y)
      for (int z = 0; z < shape[2]; ++z)
        for (int core = 0; core < shape[3]; ++core) visit(Coordinates{x, y, z, core});
}

using Chip = std::array<int, 3>;

/// Path from (1, 0) through the whole grid, and down the first column to (0, 1): a ring together with (0, 0).
std::vector<std::array<int, 2>> open_ring(int width, int height) {
  std::vector<std::array<int, 2>> out;
  for (int pair = 0; pair < height / 2; ++pair) {
    for (int x = 1; x < width; ++x) out.push_back({x, 2 * pair});
    for (int x = width - 1; x > 0; --x) out.push_back({x, 2 * pair + 1});
  }
  for (int y = height - 1; y > 0; --y) out.push_back({0, y});
  return out;
}

/// All chips of a grid, each next to its predecessor where possible.
std::vector<Chip> ring_of(int width, int height, int depth) {
  std::vector<Chip> out;
  const int lines = (width > 1 ? 1 : 0) + (height > 1 ? 1 : 0) + (depth > 1 ? 1 : 0);
  const auto is_odd = [](int size) { return size > 1 && size % 2 != 0; };
  if (lines <= 1 || is_odd(width) || is_odd(height) || is_odd(depth)) {
    for (int z = 0; z < depth; ++z)
      for (int y = 0; y < height; ++y)
        for (int x = 0; x < width; ++x) out.push_back({x, y, z});
    return out;
  }
  out.push_back({0, 0, 0});
  if (depth == 1) {
    for (const auto& [x, y] : open_ring(width, height)) out.push_back({x, y, 0});
  } else if (height == 1) {
    for (const auto& [x, z] : open_ring(width, depth)) out.push_back({x, 0, z});
  } else if (width == 1) {
    for (const auto& [y, z] : open_ring(height, depth)) out.push_back({0, y, z});
  } else {
    auto layer = open_ring(width, height);
    for (int z = 0; z < depth; ++z, std::ranges::reverse(layer))
      for (const auto& [x, y] : layer) out.push_back({x, y, z});
    for (int z = depth - 1; z > 0; --z) out.push_back({0, 0, z});
  }
  return out;
}

/// Shape for the replicas, as close to a cube as possible; the axis with the fewest places is filled first, among equal
/// ones the cores of a chip.
Coordinates grid_of(std::int64_t replicas, const Coordinates& counts) {
  Coordinates grid{};
  std::array<std::size_t, kRank> axes{3, 0, 1, 2};
  std::ranges::stable_sort(axes, {}, [&](std::size_t axis) { return counts[axis]; });
  std::int64_t left = replicas;
  for (std::size_t i = 0; i < kRank && replicas > 0; ++i) {
    const double root = std::pow(static_cast<double>(left), 1.0 / static_cast<double>(kRank - i));
    const int size = std::min(static_cast<int>(std::ceil(root)), counts[axes[i]]);
    grid[axes[i]] = size;
    left = (left + size - 1) / size;
  }
  return grid;
}

std::vector<std::vector<Coordinates>> place_on_ring(std::int64_t replicas, const Coordinates& grid,
                                                    const Coordinates& shape) {
  const auto outer = ring_of(grid[0], grid[1], grid[2]), inner = ring_of(shape[0], shape[1], shape[2]);
  std::vector<std::vector<Coordinates>> out;
  for (std::int64_t replica = 0; replica < replicas; ++replica) {
    const Chip& block = outer[static_cast<std::size_t>(replica)];
    auto& cores = out.emplace_back();
    for (const Chip& chip : inner)
      for (int core = 0; core < shape[3]; ++core)
        cores.push_back(
            {block[0] * shape[0] + chip[0], block[1] * shape[1] + chip[1], block[2] * shape[2] + chip[2], core});
  }
  return out;
}

std::vector<std::vector<Coordinates>> place_on_mesh(std::int64_t replicas, const Coordinates& grid,
                                                    const Coordinates& shape, const Coordinates& stride) {
  std::vector<std::vector<Coordinates>> out;
  for (std::int64_t replica = 0; replica < replicas; ++replica) {
    Coordinates first{};
    std::int64_t rest = replica;
    for (const std::size_t axis : {3, 0, 1, 2}) {
      const int position = static_cast<int>(rest % grid[axis]);
      rest /= grid[axis];
      first[axis] = position / stride[axis] * shape[axis] * stride[axis] + position % stride[axis];
    }
    auto& cores = out.emplace_back();
    for_places(shape, [&](const Coordinates& at) {
      Coordinates core = first;
      for (std::size_t axis = 0; axis < kRank; ++axis) core[axis] += at[axis] * stride[axis];
      cores.push_back(core);
    });
  }
  return out;
}

/// Assigns devices in order, for a mesh with holes.
Result<std::vector<std::vector<Coordinates>>> place_in_order(const Topology& topology, std::int64_t replicas,
                                                             const Coordinates& shape, const Coordinates& stride) {
  const std::int64_t each = product(shape), per_task = topology.num_devices_per_task();
  if (product(stride) != 1)
    return fail(Code::kInvalidArgument, "a mesh without some of its devices takes no stride, but {} is asked for",
                listed(stride));
  if (replicas * each > topology.num_tasks() * per_task)
    return fail(Code::kInvalidArgument, "{} replicas of {} cores, but there are {} devices", replicas, each,
                topology.num_tasks() * per_task);
  std::vector<std::vector<Coordinates>> out(static_cast<std::size_t>(replicas));
  for (std::int64_t i = 0; i < replicas * each; ++i)
    out[static_cast<std::size_t>(i / each)].push_back(
        topology.device_coordinates()[static_cast<std::size_t>(i / per_task)][static_cast<std::size_t>(i % per_task)]);
  return out;
}

std::string device_name(std::string_view job, int task, std::string_view kind, int ordinal) {
  return fmt::format("{}/task:{}/device:{}:{}", job.empty() ? "" : fmt::format("/job:{}", job), task, kind, ordinal);
}

}  // namespace

Result<Topology> Topology::make(const std::vector<std::int64_t>& mesh_shape,
                                std::vector<std::vector<Coordinates>> device_coordinates) {
  Topology out;
  out.mesh_ = TFD_TRY(positive_numbers("the shape of the mesh", mesh_shape));
  if (product(out.mesh_) > kMostCores)
    return fail(Code::kInvalidArgument, "a mesh of more than {} cores: {}", kMostCores, listed(mesh_shape));
  out.devices_ = std::move(device_coordinates);
  for (std::size_t task = 0; task < out.devices_.size(); ++task) {
    const auto& devices = out.devices_[task];
    if (devices.size() != out.devices_.front().size())
      return fail(Code::kInvalidArgument, "task 0 has {} devices, but task {} has {}", out.devices_.front().size(),
                  task, devices.size());
    for (std::size_t i = 0; i < devices.size(); ++i) {
      for (std::size_t axis = 0; axis < kRank; ++axis)
        if (devices[i][axis] < 0 || devices[i][axis] >= out.mesh_[axis])
          return fail(Code::kInvalidArgument, "device {} of task {} is at {}, outside of the mesh {}", i, task,
                      listed(devices[i]), listed(out.mesh_));
      out.places_[devices[i]] = {static_cast<int>(task), static_cast<int>(i)};
    }
  }
  return out;
}

Result<Topology> Topology::from_numbers(const std::vector<std::int64_t>& mesh_shape, std::int64_t num_tasks,
                                        std::int64_t devices_per_task, const std::vector<std::int64_t>& coordinates) {
  TFD_TRY(positive_numbers("the shape of the mesh", mesh_shape));
  if (num_tasks < 0) return fail(Code::kInvalidArgument, "a topology of {} tasks", num_tasks);
  if (devices_per_task < 0)
    return fail(Code::kInvalidArgument, "a topology of {} devices for each task", devices_per_task);
  const bool is_too_many = num_tasks > kMostCores || devices_per_task > kMostCores;
  if (is_too_many || coordinates.size() != static_cast<std::size_t>(num_tasks * devices_per_task) * kRank)
    return fail(Code::kInvalidArgument, "{} tasks of {} devices have {} coordinates each, not {} numbers in all",
                num_tasks, devices_per_task, kRank, coordinates.size());
  std::vector<std::vector<Coordinates>> places(static_cast<std::size_t>(num_tasks));
  for (std::size_t i = 0; i < coordinates.size(); i += kRank) {
    Coordinates at{};
    for (std::size_t axis = 0; axis < kRank; ++axis) {
      const std::int64_t number = coordinates[i + axis];
      if (number < 0 || number > kMostCores) return fail(Code::kInvalidArgument, "no coordinate of a mesh: {}", number);
      at[axis] = static_cast<int>(number);
    }
    places[i / kRank / static_cast<std::size_t>(devices_per_task)].push_back(at);
  }
  return make(mesh_shape, std::move(places));
}

Result<Topology> Topology::full(const std::vector<std::int64_t>& mesh_shape) {
  const Topology empty = TFD_TRY(make(mesh_shape, {}));
  const Coordinates& shape = empty.mesh_;
  std::vector<Coordinates> devices;
  for_places({shape[2], shape[1], shape[0], shape[3]}, [&](const Coordinates& at) {
    devices.push_back({at[2], at[1], at[0], at[3]});
  });
  return make(mesh_shape, {std::move(devices)});
}

std::vector<Coordinates> Topology::missing_devices() const {
  std::vector<Coordinates> out;
  for_places(mesh_, [&](const Coordinates& at) {
    if (!places_.contains(at)) out.push_back(at);
  });
  return out;
}

Result<Topology::Place> Topology::find(const Coordinates& at) const {
  for (std::size_t axis = 0; axis < kRank; ++axis)
    if (at[axis] < 0 || at[axis] >= mesh_[axis])
      return fail(Code::kOutOfRange, "{} is outside of the mesh {}", listed(at), listed(mesh_));
  const auto found = places_.find(at);
  if (found == places_.end()) return fail(Code::kNotFound, "there is no device at {}", listed(at));
  return found->second;
}

Result<std::string> Topology::tpu_device(const Coordinates& at, std::string_view job) const {
  const Place place = TFD_TRY(find(at));
  return device_name(job, place.task, "TPU", place.ordinal);
}

Result<std::string> Topology::cpu_device(const Coordinates& at, std::string_view job) const {
  return device_name(job, TFD_TRY(find(at)).task, "CPU", 0);
}

Result<DeviceAssignment> DeviceAssignment::build(Topology topology, const ComputationShape& computation) {
  const Coordinates shape = TFD_TRY(positive_numbers("the shape of a replica", computation.shape));
  const Coordinates stride = TFD_TRY(positive_numbers("the stride of a replica", computation.stride));
  const Coordinates& mesh = topology.mesh_shape();
  Coordinates footprint, counts;
  for (std::size_t axis = 0; axis < kRank; ++axis) {
    const std::int64_t size = static_cast<std::int64_t>(shape[axis]) * stride[axis];
    if (size > mesh[axis])
      return fail(Code::kInvalidArgument, "a replica of shape {} with the stride {} does not fit into the mesh {}",
                  listed(shape), listed(stride), listed(mesh));
    footprint[axis] = static_cast<int>(size);
    counts[axis] = mesh[axis] / footprint[axis] * stride[axis];
  }
  const std::int64_t replicas = computation.num_replicas, most = product(counts);
  if (replicas < 0) return fail(Code::kInvalidArgument, "{} replicas", replicas);
  if (replicas > most)
    return fail(Code::kInvalidArgument,
                "{} replicas are asked for, but only {} replicas with shape {} and stride {} fit into the mesh {}",
                replicas, most, listed(shape), listed(stride), listed(mesh));
  if (!topology.missing_devices().empty()) {
    auto cores = TFD_TRY(place_in_order(topology, replicas, shape, stride));
    return DeviceAssignment(std::move(topology), std::move(cores));
  }
  const bool can_be_ring = shape[3] == mesh[3] && product(stride) == 1 && replicas == most;
  if (computation.order == DeviceOrder::kRing && !can_be_ring)
    return fail(Code::kInvalidArgument,
                "a ring needs replicas of whole chips, without a stride, on all of the mesh {}: leave the order open",
                listed(mesh));
  const Coordinates grid = grid_of(replicas, counts);
  auto cores = can_be_ring && computation.order != DeviceOrder::kMesh ? place_on_ring(replicas, grid, shape)
                                                                      : place_on_mesh(replicas, grid, shape, stride);
  return DeviceAssignment(std::move(topology), std::move(cores));
}

Result<DeviceAssignment> DeviceAssignment::make(Topology topology,
                                                std::vector<std::vector<Coordinates>> core_assignment) {
  for (std::size_t replica = 0; replica < core_assignment.size(); ++replica)
    if (core_assignment[replica].size() != core_assignment.front().size() || core_assignment[replica].empty())
      return fail(Code::kInvalidArgument, "replica 0 has {} cores, but replica {} has {}",
                  core_assignment.front().size(), replica, core_assignment[replica].size());
  return DeviceAssignment(std::move(topology), std::move(core_assignment));
}

Result<int> DeviceAssignment::ordinal(int replica, int logical_core) const {
  return TFD_TRY(topology_.find(coordinates(replica, logical_core))).ordinal;
}
Result<std::string> DeviceAssignment::tpu_device(int replica, int logical_core, std::string_view job) const {
  return topology_.tpu_device(coordinates(replica, logical_core), job);
}
Result<std::string> DeviceAssignment::host_device(int replica, int logical_core, std::string_view job) const {
  return topology_.cpu_device(coordinates(replica, logical_core), job);
}

Result<std::vector<int>> DeviceAssignment::lookup_replicas(int task, int logical_core) const {
  std::vector<int> out;
  for (int replica = 0; replica < num_replicas() && logical_core < num_cores_per_replica(); ++replica)
    if (const auto place = topology_.find(coordinates(replica, logical_core)); place && place->task == task)
      out.push_back(replica);
  if (out.empty()) return fail(Code::kNotFound, "no replica on task {} has the logical core {}", task, logical_core);
  return out;
}

Result<Topology> topology_of(const std::vector<function::DeviceInfo>& devices) {
  std::map<int, std::vector<std::pair<int, Coordinates>>> tasks;  // by host: each device's id and coordinates
  std::vector<std::int64_t> mesh(kRank, 1);
  for (const function::DeviceInfo& one : devices) {
    if (one.coords.size() != kRank - 1)
      return fail(Code::kNotFound, "devices of the kind '{}' have no coordinates", one.kind);
    Coordinates at{};
    std::ranges::transform(one.coords, at.begin(), [](std::int64_t x) { return static_cast<int>(x); });
    at.back() = static_cast<int>(one.core_on_chip.value_or(0));
    for (std::size_t axis = 0; axis < kRank; ++axis) mesh[axis] = std::max<std::int64_t>(mesh[axis], at[axis] + 1);
    tasks[one.process_index].emplace_back(one.id, at);
  }
  std::vector<std::vector<Coordinates>> places;
  for (auto& [task, own] : tasks) {
    std::ranges::sort(own);
    places.emplace_back();
    for (const auto& [id, at] : own) places.back().push_back(at);
  }
  return Topology::make(mesh, std::move(places));
}

Result<std::vector<std::int64_t>> parse_mesh_shape(std::string_view text) {
  std::vector<std::int64_t> out;
  for (const std::string& one : split(text, text.find('x') == std::string_view::npos ? ',' : 'x'))
    out.push_back(TFD_TRY(parse_integer(one, 1, kMostCores), fmt::format("'{}'", printable(text))));
  return out;
}

}  // namespace tfd::strategy
