// SPDX-License-Identifier: Apache-2.0
//
// Meshes as plug-ins and options say them. TensorFlow's use of them: the golden sets topology, device_assignment.
#include <doctest/doctest.h>

#include "tfd/strategy/topology.hpp"

namespace tfd::strategy {
namespace {

function::DeviceInfo core_at(int id, int host, std::vector<std::int64_t> coords, std::int64_t core) {
  return {.id = id, .process_index = host, .kind = "TPU v3", .coords = std::move(coords), .core_on_chip = core};
}

TEST_CASE("topology: of a plug-in's devices, by host and id") {
  const auto mesh = topology_of({core_at(3, 1, {1, 0, 0}, 1), core_at(2, 1, {1, 0, 0}, 0), core_at(0, 0, {0, 0, 0}, 0),
                                 core_at(1, 0, {0, 0, 0}, 1)})
                        .value();
  CHECK(mesh.mesh_shape() == Coordinates{2, 1, 1, 2});
  CHECK(mesh.num_tasks() == 2);
  CHECK(mesh.num_devices_per_task() == 2);
  CHECK(mesh.missing_devices().empty());
  CHECK(mesh.tpu_device({1, 0, 0, 0}).value() == "/task:1/device:TPU:0");
  CHECK(mesh.tpu_device({0, 0, 0, 1}, "worker").value() == "/job:worker/task:0/device:TPU:1");
  CHECK(topology_of({{.id = 0, .process_index = 0, .kind = "cpu"}}).error().code == Code::kNotFound);
  CHECK_FALSE(topology_of({core_at(0, 0, {0, 0, 0}, 0), core_at(1, 1, {1, 0, 0}, 0), core_at(2, 1, {0, 1, 0}, 0)}));
}

TEST_CASE("topology: a full mesh has its chips along x, y, z, the cores of a chip first") {
  const auto mesh = Topology::full({2, 2, 2, 2}).value();
  CHECK(mesh.num_devices_per_task() == 16);
  CHECK(mesh.find({0, 0, 0, 1})->ordinal == 1);
  CHECK(mesh.find({1, 0, 0, 0})->ordinal == 2);
  CHECK(mesh.find({0, 1, 0, 0})->ordinal == 4);
  CHECK(mesh.find({0, 0, 1, 0})->ordinal == 8);
  CHECK(mesh.find({2, 0, 0, 0}).error().code == Code::kOutOfRange);
  CHECK_FALSE(Topology::full({1 << 20, 1 << 20, 1, 1}));
}

TEST_CASE("topology: numbers that can't be one are refused, as in TensorFlow") {
  const std::vector<std::int64_t> mesh{2, 1, 1, 1}, both{0, 0, 0, 0, 1, 0, 0, 0};
  const auto two = Topology::from_numbers(mesh, 2, 1, both);
  REQUIRE(two);
  CHECK(two->num_tasks() == 2);
  CHECK(two->find({1, 0, 0, 0})->task == 1);
  CHECK(Topology::from_numbers(mesh, 1, 2, both)->find({1, 0, 0, 0})->ordinal == 1);
  CHECK(Topology::from_numbers(mesh, 0, 0, {})->num_tasks() == 0);
  CHECK(Topology::from_numbers(mesh, -1, 1, {}).error().message == "a topology of -1 tasks");
  CHECK(Topology::from_numbers(mesh, -1, -2, both).error().code == Code::kInvalidArgument);
  CHECK(Topology::from_numbers(mesh, 2, -1, {}).error().message == "a topology of -1 devices for each task");
  CHECK_FALSE(Topology::from_numbers(mesh, 2, 1, {0, 0, 0, 0}));
  CHECK_FALSE(Topology::from_numbers(mesh, 1, 1, {0, 0, 0, -1}));
  CHECK_FALSE(Topology::from_numbers({2, 1, 1}, 2, 1, both));
}

TEST_CASE("topology: shapes as they are typed") {
  CHECK(parse_mesh_shape("2x2x1x2").value() == std::vector<std::int64_t>{2, 2, 1, 2});
  CHECK(parse_mesh_shape("1,1,1,2").value() == std::vector<std::int64_t>{1, 1, 1, 2});
  for (const char* text : {"", "2xx1x1", "2x2x1x-1", "a", "2,2x1"}) CHECK_FALSE(parse_mesh_shape(text));
}

TEST_CASE("device assignment: every core of a full mesh is used once, whatever the shape of a replica") {
  for (const std::vector<std::int64_t>& mesh :
       {std::vector<std::int64_t>{4, 4, 1, 2}, {2, 2, 2, 1}, {4, 2, 4, 2}, {3, 3, 1, 1}, {1, 1, 8, 2}})
    for (const std::vector<std::int64_t>& shape : {std::vector<std::int64_t>{1, 1, 1, 1}, {1, 1, 1, mesh[3]}}) {
      const auto topology = Topology::full(mesh).value();
      const std::int64_t replicas = topology.num_devices_per_task() / shape[3];
      const auto assignment = DeviceAssignment::build(topology, {.shape = shape, .num_replicas = replicas});
      REQUIRE(assignment);
      std::map<Coordinates, int> uses;
      for (const auto& cores : assignment->core_assignment())
        for (const Coordinates& at : cores) ++uses[at];
      CHECK(uses.size() == static_cast<std::size_t>(topology.num_devices_per_task()));
    }
}

}  // namespace
}  // namespace tfd::strategy
