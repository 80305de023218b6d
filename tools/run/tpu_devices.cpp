// SPDX-License-Identifier: Apache-2.0
#include "tpu_devices.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "tfd/base/file.hpp"
#include "tfd/base/text.hpp"
#include "tfd/function/function.hpp"

namespace tfd::run {
namespace {

constexpr std::size_t kMostBytes = std::size_t{16} << 20;  // of a file with an assignment

Result<strategy::Topology> find_topology(const TpuOptions& options, const Environment& env) {
  if (!options.topology.empty()) {
    auto topology = [&]() -> Result<strategy::Topology> {
      return strategy::Topology::full(TFD_TRY(strategy::parse_mesh_shape(options.topology)));
    }();
    if (!topology) return fail(Code::kUsage, "--topology {}: {}", options.topology, topology.error().message);
    return topology;
  }
  auto topology = strategy::topology_of(TFD_TRY(function::list_devices(TFD_TRY(function::find_plugin(env)))));
  if (!topology && topology.error().code == Code::kNotFound)
    return fail(Code::kUsage, "--strategy tpu: {}: state the mesh, such as --topology 2x2x1x2",
                topology.error().message);
  return topology;
}

/// [[[x, y, z, core], …], …], by replica and logical core.
Result<strategy::DeviceAssignment> load_assignment(const std::string& path, strategy::Topology topology) {
  const std::string text = TFD_TRY(load_file(path, kMostBytes));
  const auto json = nlohmann::json::parse(text, nullptr, false);
  std::vector<std::vector<strategy::Coordinates>> cores;
  const auto refuse = [&](const std::string& where) {
    return fail(Code::kInvalidArgument, "{}: {}: must be [[[x, y, z, core], …], …]: the cores of each replica",
                printable(path), where);
  };
  if (!json.is_array()) return refuse("the document");
  for (std::size_t replica = 0; replica < json.size(); ++replica) {
    if (!json[replica].is_array()) return refuse(fmt::format("[{}]", replica));
    cores.emplace_back();
    for (std::size_t core = 0; core < json[replica].size(); ++core) {
      const auto& at = json[replica][core];
      const bool is_place = at.is_array() && at.size() == 4 && std::ranges::all_of(at, [](const auto& one) {
                              return one.is_number_unsigned() && one < 1 << 20;
                            });
      if (!is_place) return refuse(fmt::format("[{}][{}]", replica, core));
      cores.back().push_back({at[0], at[1], at[2], at[3]});
    }
  }
  return TFD_TRY(strategy::DeviceAssignment::make(std::move(topology), std::move(cores)), printable(path));
}

Result<strategy::DeviceAssignment> find_assignment(const TpuOptions& options, strategy::Topology topology) {
  if (!options.assignment.empty()) return load_assignment(options.assignment, std::move(topology));
  strategy::ComputationShape computation;
  if (!options.computation_shape.empty()) {
    auto shape = strategy::parse_mesh_shape(options.computation_shape);
    if (!shape) return fail(Code::kUsage, "--computation-shape {}", shape.error().message);
    computation.shape = std::move(*shape);
  }
  computation.num_replicas = std::max<std::int64_t>(options.num_replicas, 1);
  return strategy::DeviceAssignment::build(std::move(topology), computation);
}

}  // namespace

Result<function::DeviceChoice> choose_tpu_devices(const TpuOptions& options, const Environment& env) {
  if (!options.assignment.empty() && (!options.computation_shape.empty() || options.num_replicas > 0))
    return fail(Code::kUsage, "--device-assignment says what --computation-shape and --num-replicas would");
  auto topology = TFD_TRY(find_topology(options, env));
  if (topology.num_tasks() != 1)
    return fail(Code::kUnimplemented, "a TPU system of {} hosts: only those of one host are there yet",
                topology.num_tasks());
  const bool takes_all = options.assignment.empty() && options.computation_shape.empty() && options.num_replicas == 0;
  if (takes_all) {
    auto all = function::first_devices(topology.num_devices_per_task());
    all.spmd = options.spmd;
    return all;
  }
  const auto assignment = TFD_TRY(find_assignment(options, std::move(topology)));
  function::DeviceChoice choice;
  choice.spmd = options.spmd;
  choice.logical_devices = std::max(assignment.num_cores_per_replica(), 1);
  for (int replica = 0; replica < assignment.num_replicas(); ++replica)
    for (int core = 0; core < assignment.num_cores_per_replica(); ++core) {
      const int ordinal = TFD_TRY(assignment.ordinal(replica, core));
      if (std::ranges::find(choice.positions, ordinal) != choice.positions.end())
        return fail(Code::kInvalidArgument, "the device assignment has the core [{}] twice",
                    fmt::join(assignment.coordinates(replica, core), ", "));
      choice.positions.push_back(ordinal);
    }
  if (choice.positions.empty()) return fail(Code::kInvalidArgument, "the device assignment has no replica");
  return choice;
}

}  // namespace tfd::run
