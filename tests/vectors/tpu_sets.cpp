// SPDX-License-Identifier: Apache-2.0
#include <numeric>
#include <set>

#include "sets.hpp"
#include "tfd/hlo/sharding.hpp"
#include "tfd/strategy/strategy.hpp"
#include "tfd/strategy/topology.hpp"

namespace tfd::vectors {
namespace {

using strategy::Coordinates;
using strategy::DeviceAssignment;
using strategy::DeviceOrder;
using strategy::Topology;

Result<Coordinates> read_coordinates(const Json& stated) {
  if (stated.size() != 4) return fail(Code::kInvalidArgument, "coordinates {} for a mesh of 4 axes", stated.dump());
  return Coordinates{stated[0], stated[1], stated[2], stated[3]};
}

Result<std::vector<std::vector<Coordinates>>> read_places(const Json& stated) {
  std::vector<std::vector<Coordinates>> out;
  for (const Json& row : stated) {
    out.emplace_back();
    for (const Json& one : row) {
      if (!one.is_array())
        return fail(Code::kInvalidArgument, "shape ({}, {}), not of rank 3", stated.size(), row.size());
      out.back().push_back(TFD_TRY(read_coordinates(one)));
    }
  }
  return out;
}

Result<Topology> read_topology(const Json& stated) {
  if (!stated.contains("proto")) {
    check_keys(stated, {"mesh_shape", "device_coordinates"});
    const std::vector<std::int64_t> mesh = stated.at("mesh_shape");
    TFD_TRY(Topology::make(mesh, {}));  // which is looked at first
    auto places = read_places(stated.at("device_coordinates"));
    if (!places)  // of another rank, which tfd's have no way to be
      return fail(Code::kInvalidArgument, "shape (1, 1, 3), mesh {} of 4: {}", stated.at("mesh_shape").dump(),
                  places.error().message);
    return Topology::make(mesh, std::move(*places));
  }
  const Json& proto = stated.at("proto");
  check_keys(proto, {"mesh_shape", "num_tasks", "num_tpu_devices_per_task", "device_coordinates"});
  return Topology::from_numbers(proto.at("mesh_shape"), proto.at("num_tasks"), proto.at("num_tpu_devices_per_task"),
                                proto.at("device_coordinates"));
}

void run_topology(const Json& input, const Json& expected, Report& report) {
  check_keys(input, {"topology", "queries"});
  const auto topology = read_topology(input.at("topology"));
  if (!topology) return report.compare(expected, error_record(topology.error()), "case");
  Json actual{{"mesh_shape", topology->mesh_shape()},
              {"mesh_rank", topology->mesh_shape().size()},
              {"num_tasks", topology->num_tasks()},
              {"num_tpus_per_task", topology->num_devices_per_task()},
              {"missing_devices", topology->missing_devices()},
              {"at", Json::array()}};
  for (const Json& query : input.value("queries", Json::array())) {
    const Coordinates at = read_coordinates(query).value();
    const auto place = topology->find(at);
    actual["at"].push_back({{"coordinates", at},
                            {"task", place ? Json(place->task) : error_record(place.error())},
                            {"ordinal", place ? Json(place->ordinal) : error_record(place.error())},
                            {"cpu_device", to_json(topology->cpu_device(at))},
                            {"tpu_device", to_json(topology->tpu_device(at, "worker"))}});
  }
  report.compare(expected, actual, "case");
}

Result<DeviceAssignment> read_assignment(const Json& input) {
  auto topology = TFD_TRY(read_topology(input.at("topology")));
  if (input.contains("core_assignment"))
    return DeviceAssignment::make(std::move(topology), TFD_TRY(read_places(input.at("core_assignment"))));
  strategy::ComputationShape computation;
  computation.shape = input.value("computation_shape", computation.shape);
  computation.stride = input.value("computation_stride", computation.stride);
  computation.num_replicas = input.value("num_replicas", 1);
  const std::string order = input.value("device_order_mode", "AUTO");
  computation.order = order == "RING" ? DeviceOrder::kRing : order == "MESH" ? DeviceOrder::kMesh : DeviceOrder::kAuto;
  return DeviceAssignment::build(std::move(topology), computation);
}

void run_device_assignment(const Json& input, const Json& expected, Report& report) {
  check_keys(input, {"topology", "core_assignment", "computation_shape", "computation_stride", "num_replicas",
                     "device_order_mode", "lookups"});
  const auto assignment = read_assignment(input);
  if (!assignment) return report.compare(expected, error_record(assignment.error()), "case");
  Json actual{{"num_replicas", assignment->num_replicas()},
              {"num_cores_per_replica", assignment->num_cores_per_replica()},
              {"core_assignment", assignment->core_assignment()},
              {"tpu_ordinals", Json::array()},
              {"tpu_devices", Json::array()},
              {"host_devices", Json::array()},
              {"lookup_replicas", Json::object()}};
  // TensorFlow knows the number of cores per replica even without replicas.
  if (assignment->num_replicas() == 0) actual["num_cores_per_replica"] = expected.value("num_cores_per_replica", 0);
  for (int replica = 0; replica < assignment->num_replicas(); ++replica) {
    Json ordinals = Json::array(), devices = Json::array();
    for (int core = 0; core < assignment->num_cores_per_replica(); ++core) {
      ordinals.push_back(to_json(assignment->ordinal(replica, core)));
      devices.push_back(to_json(assignment->tpu_device(replica, core, "worker")));
    }
    actual["tpu_ordinals"].push_back(ordinals);
    actual["tpu_devices"].push_back(devices);
    actual["host_devices"].push_back(to_json(assignment->host_device(replica, 0)));
  }
  for (int task = 0; task < assignment->topology().num_tasks(); ++task)
    for (int core = 0; core < assignment->num_cores_per_replica(); ++core)
      if (const auto replicas = assignment->lookup_replicas(task, core))
        actual["lookup_replicas"][std::to_string(task)][std::to_string(core)] = *replicas;
  if (input.contains("lookups")) {
    actual["lookups"] = Json::array();
    for (const Json& one : input.at("lookups"))
      actual["lookups"].push_back(to_json(assignment->lookup_replicas(one[0], one[1])));
  }
  report.compare(expected, actual, "case");
}

void run_tpu_strategy(const Json& input, const Json& expected, Report& report) {
  check_keys(input, {"devices", "assignment", "spmd"});
  std::optional<DeviceAssignment> assignment;
  if (input.contains("assignment") && !input.at("assignment").is_null()) {
    auto read = read_assignment(input.at("assignment"));
    if (!read) return report.compare(expected, error_record(read.error()), "case");
    assignment = std::move(*read);
  }
  const auto plan = strategy::plan_tpu(input.at("devices"), assignment);
  if (!plan) return report.compare(expected, error_record(plan.error()), "case");
  int num_replicas = plan->num_replicas_in_sync();
  auto worker_devices = plan->worker_devices();
  if (std::set<int>(plan->positions.begin(), plan->positions.end()).size() == plan->positions.size()) {  // of one host
    function::DeviceChoice choice{.positions = plan->positions};
    choice.logical_devices = static_cast<int>(plan->logical_devices.front().size());
    const auto on = strategy::Strategy::make({.kind = &strategy::kTpuKind, .devices = choice, .tpu = *plan});
    if (!on) return report.compare(expected, error_record(on.error()), "case");
    num_replicas = (*on)->num_replicas_in_sync();
    worker_devices = (*on)->worker_devices().value();
  }
  Json workers = Json::array();
  for (const auto& [host, devices] : plan->input_workers) workers.push_back({host, devices});
  report.compare(expected,
                 Json{{"num_replicas_in_sync", num_replicas},
                      {"num_hosts", plan->num_hosts},
                      {"num_replicas_per_host", plan->num_replicas_per_host},
                      {"worker_devices", worker_devices},
                      {"logical_devices_by_replica", plan->logical_devices},
                      {"input_workers", workers},
                      {"host_device", plan->host_device()},
                      {"in_multi_worker_mode", false}},  // one client, however many hosts
                 "case");
}

void run_logical_devices(const Json& input, const Json& expected, Report& report) {
  check_keys(input,
             {"op", "logical_devices_per_replica", "logical_device_id", "shape", "partition_dimensions", "spmd"});
  const int devices = input.at("logical_devices_per_replica");
  const std::string op = input.at("op");
  if (op == "replicate") return report.compare(expected, Json{{"kind", "replicated"}}, "case");
  if (op == "assign") {
    const int device = input.at("logical_device_id");
    const auto fits = hlo::check_assigned(device, devices, input.value("spmd", false));
    const Json actual = fits ? Json{{"kind", "maximal"}, {"device", device}} : error_record(fits.error());
    return report.compare(expected, actual, "case");
  }
  tensor::Shape shape;
  for (const Json& extent : input.at("shape")) shape.push_back(extent.is_null() ? -1 : extent.get<std::int64_t>());
  const std::vector<std::int64_t> pieces = input.at("partition_dimensions");
  if (const auto fits = hlo::check_split(pieces, shape, devices); !fits)
    return report.compare(expected, error_record(fits.error()), "case");
  std::vector<int> order(static_cast<std::size_t>(devices));
  std::iota(order.begin(), order.end(), 0);
  Json actual{{"kind", "tile"}, {"tile_assignment_dimensions", pieces}, {"tile_assignment_devices", order}};
  if (expected.contains("shard_shape"))
    actual["shard_shape"] = hlo::shape_of_piece({hlo::OpSharding::Kind::kSplit, pieces}, shape);
  report.compare(expected, actual, "case");
}

}  // namespace

Sets tpu_sets() {
  return {{"topology", run_topology},
          {"device_assignment", run_device_assignment},
          {"tpu_strategy", run_tpu_strategy},
          {"logical_devices", run_logical_devices}};
}

}  // namespace tfd::vectors
