// SPDX-License-Identifier: Apache-2.0
#include "tpu_devices.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "tfd/base/file.hpp"
#include "tfd/base/text.hpp"
#include "tfd/function/function.hpp"
#include "tfd/function/topology.hpp"

namespace tfd::run {
namespace {

constexpr std::size_t kMostBytes = std::size_t{16} << 20;  // size limit of a file with an assignment

/// True for a name of a topology, "v4:2x2x4"; "2x2x1x2" is a mesh.
bool is_name(std::string_view topology) { return topology.find_first_not_of("0123456789x,") != std::string_view::npos; }

/// Refers a name that libtpu doesn't know to those that it does.
Error with_known_names(Error error) {
  if (error.message.find("Invalid TPU external name") != std::string::npos)
    error.message += "\nhint: systems are v2, v3, v4, v5e, v5p, v6e and tpu7x, as in v6e:2x4 or tpu7x:2x2x1";
  return error;
}

/// Topology of a system that isn't here.
Result<strategy::Topology> find_named_topology(const TpuOptions& options, const Environment& env) {
  const std::string shown = "--topology " + printable(options.topology);
  if (!options.plans) return fail(Code::kUsage, "{}: a named system can only be used with --explain", shown);
  const auto name = function::parse_topology_name(options.topology);
  if (!name) return fail(Code::kUsage, "{}: {}", shown, name.error().message);
  auto devices = function::list_topology_devices(TFD_TRY(function::find_plugin(env)), *name);
  if (!devices && devices.error().code == Code::kUnimplemented)
    return fail(Code::kFailedPrecondition,
                "{}: {}\nhint: TFD_PJRT_PLUGIN names a plug-in that compiles for it, such as libtpu.so", shown,
                devices.error().message);
  if (!devices) return fail(with_known_names(std::move(devices).error()).within(shown));
  return strategy::topology_of(*devices);
}

/// `process`: set to this one's index among the system's.
Result<strategy::Topology> find_topology(const TpuOptions& options, const Environment& env, int& process) {
  if (is_name(options.topology)) return find_named_topology(options, env);
  if (!options.topology.empty()) {
    auto topology = [&]() -> Result<strategy::Topology> {
      return strategy::Topology::full(TFD_TRY(strategy::parse_mesh_shape(options.topology)));
    }();
    if (!topology) return fail(Code::kUsage, "--topology {}: {}", options.topology, topology.error().message);
    return topology;
  }
  auto system = function::list_system(TFD_TRY(function::find_plugin(env)));
  if (!system && options.plans)
    system.error().message += "\nhint: --topology NAME, such as v6e:2x4, plans for a system that isn't here";
  if (!system) return fail(std::move(system).error());
  process = system->process_index;
  auto topology = strategy::topology_of(system->devices);
  if (!topology && topology.error().code == Code::kNotFound)
    return fail(Code::kUsage, "--strategy tpu: {}: {}", topology.error().message,
                options.hosts > 1 ? "those of several hosts need the slice's plug-in, such as TFD_PJRT_PLUGIN=tpu"
                                  : "state the mesh, such as --topology 2x2x1x2");
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

/// Device names in TensorFlow's order.
Result<std::vector<std::string>> names_of_devices(const strategy::Topology& topology) {
  std::vector<std::string> names;
  for (const auto& task : topology.device_coordinates())
    for (const strategy::Coordinates& at : task) names.push_back(TFD_TRY(topology.tpu_device(at)));
  return names;
}

/// Requires that no core belongs to two replicas, also for CPU devices used as cores.
Result<void> check_cores(const strategy::DeviceAssignment& assignment) {
  std::set<strategy::Coordinates> seen;
  for (const auto& replica : assignment.core_assignment())
    for (const strategy::Coordinates& core : replica)
      if (!seen.insert(core).second)
        return fail(Code::kInvalidArgument, "the device assignment has the core [{}] twice", fmt::join(core, ", "));
  return {};
}

Result<void> check_hosts(const TpuOptions& options, int hosts) {
  if (options.plans || hosts == options.hosts) return {};
  if (options.hosts == 1)
    return fail(
        Code::kFailedPrecondition,
        "a TPU system of {} hosts: each needs a process that knows the others\nhint: --cluster tpu on each host",
        hosts);
  if (!options.topology.empty())
    return fail(Code::kUsage, "--topology {}: that is one host's, but the cluster has {}: the plug-in knows their mesh",
                options.topology, options.hosts);
  return fail(Code::kFailedPrecondition, "the TPU system has {} hosts, the cluster {}", hosts, options.hosts);
}

/// Requires that each replica has the cores of one host. kUnimplemented.
Result<void> check_replicas(const strategy::TpuPlan& plan, int devices_per_host) {
  const std::size_t each = plan.logical_devices.front().size();
  for (std::size_t i = 0; i < plan.positions.size(); ++i)
    if (plan.positions[i] / devices_per_host != plan.positions[i - i % each] / devices_per_host)
      return fail(Code::kUnimplemented, "replica {} has cores of several hosts: only those of one are supported",
                  i / each);
  return {};
}

/// Positions of the replicas that are on one of several hosts, among its devices.
Result<std::vector<int>> positions_on(const strategy::TpuPlan& plan, int devices_per_host, int host) {
  std::vector<int> out;
  for (const int position : plan.positions)
    if (position / devices_per_host == host) out.push_back(position % devices_per_host);
  if (out.empty()) return fail(Code::kUnimplemented, "the device assignment has no replica on host {}", host);
  return out;
}

}  // namespace

Result<TpuDevices> choose_tpu_devices(const TpuOptions& options, const Environment& env) {
  if (!options.assignment.empty() && (!options.computation_shape.empty() || options.num_replicas > 0))
    return fail(Code::kUsage, "--device-assignment says what --computation-shape and --num-replicas would");
  int process = 0;
  auto topology = TFD_TRY(find_topology(options, env, process));
  const bool is_named = is_name(options.topology);
  const int hosts = static_cast<int>(topology.num_tasks());
  TFD_TRY(check_hosts(options, hosts));
  const auto devices = TFD_TRY(names_of_devices(topology));
  const bool takes_all = options.assignment.empty() && options.computation_shape.empty() && options.num_replicas == 0;
  std::optional<strategy::DeviceAssignment> assignment;
  if (!takes_all) assignment = TFD_TRY(find_assignment(options, std::move(topology)));
  if (assignment) TFD_TRY(check_cores(*assignment));
  TpuDevices out{TFD_TRY(strategy::plan_tpu(devices, assignment)), {}};
  out.choice.positions = out.plan.positions;
  const int each = static_cast<int>(devices.size()) / hosts;
  TFD_TRY(check_replicas(out.plan, each));
  if (options.hosts > 1) {
    out.choice.positions = TFD_TRY(positions_on(out.plan, each, process));
    out.choice.kind = "tpu";
  }
  if (is_named) out.choice.topology = options.topology;
  out.choice.logical_devices = static_cast<int>(out.plan.logical_devices.front().size());
  out.choice.spmd = options.spmd;
  return out;
}

}  // namespace tfd::run
