// SPDX-License-Identifier: Apache-2.0
#include "devices.hpp"

#include <unistd.h>

#include <array>
#include <map>

#include "plugin_options.hpp"
#include "tfd/base/json_line.hpp"
#include "tfd/base/text.hpp"
#include "tfd/base/units.hpp"
#include "tfd/function/devices.hpp"
#include "tfd/function/function.hpp"
#include "tfd/resolve/tpu.hpp"
#include "tfd/strategy/topology.hpp"

namespace tfd::tool_resolve {
namespace {

constexpr int kMostPlayed = 1024;
constexpr std::array<const char*, 4> kPlaces{"/lib/libtpu.so", "/usr/lib/libtpu.so", "/usr/local/lib/libtpu.so",
                                             "/usr/lib/x86_64-linux-gnu/libtpu.so"};

Result<std::string> find_libtpu(const Environment& env) {
  if (auto given = env.get("TPU_LIBRARY_PATH"); !given.empty()) return given;
  for (const char* place : kPlaces)
    if (::access(place, R_OK) == 0) return place;
  return fail(Code::kNotFound, "no TPU plug-in: TPU_LIBRARY_PATH is unset, and there is no {}", kPlaces[0]);
}

/// "2x2x1": a mesh of chips with one core each.
Result<strategy::Topology> parse_chips(const std::string& topology) {
  std::int64_t chips = 1;
  std::vector<std::int64_t> mesh;
  for (const std::string& side : split(topology, 'x')) {
    mesh.push_back(TFD_TRY(parse_integer(side, 1, kMostPlayed), "TFD_TPU_TOPOLOGY"));
    chips *= mesh.back();
    if (chips > kMostPlayed || mesh.size() > 3)
      return fail(Code::kInvalidArgument, "TFD_TPU_TOPOLOGY: {} is more than {}", printable(topology),
                  mesh.size() > 3 ? "three directions" : fmt::format("{} chips", kMostPlayed));
  }
  mesh.resize(4, 1);
  return strategy::Topology::full(mesh);
}

struct Found {
  std::vector<function::DeviceInfo> devices;
  std::optional<strategy::Topology> topology;  // set if the devices report coordinates, or the user states the mesh
};

Result<Found> find_tpus(const Environment& env, Deadline deadline) {
  if (deadline.expired()) return fail(Code::kDeadlineExceeded, "no time left to list the TPU's devices");
  keep_plugins_quiet();
  Found found;
  if (const auto chips = env.get("TFD_TPU_TOPOLOGY"); !chips.empty()) {
    found.topology = TFD_TRY(parse_chips(chips));
    found.devices =
        TFD_TRY(function::list_devices(TFD_TRY(function::find_plugin(env)), found.topology->num_devices_per_task()));
    return found;
  }
  auto devices = function::list_devices(TFD_TRY(find_libtpu(env)));
  if (!devices) return fail(Code::kNotFound, "no TPU device: {}", devices.error().message);
  found.devices = std::move(*devices);
  if (auto topology = strategy::topology_of(found.devices)) found.topology = std::move(*topology);
  return found;
}

/// TensorFlow's names; a device's index counts from 0 on each host.
std::vector<std::string> names_of(const std::vector<function::DeviceInfo>& devices) {
  std::map<int, int> next;
  std::vector<std::string> out;
  for (const function::DeviceInfo& device : devices)
    out.push_back(fmt::format("/job:localhost/replica:0/task:{}/device:TPU:{}", device.process_index,
                              next[device.process_index]++));
  return out;
}

std::string quoted(const std::string& text) {
  std::string out;
  append_json_string(text, out);
  return out;
}

/// "[[0, 0, 0, 0], [1, 0, 0, 0]]".
std::string text_of(const std::vector<strategy::Coordinates>& places) {
  std::vector<std::string> all;
  for (const strategy::Coordinates& at : places) all.push_back(fmt::format("[{}]", fmt::join(at, ", ")));
  return fmt::format("[{}]", fmt::join(all, ", "));
}

std::string text_of(const std::optional<strategy::Topology>& topology) {
  if (!topology) return "null";
  std::vector<std::string> tasks;
  for (const auto& places : topology->device_coordinates()) tasks.push_back(text_of(places));
  return fmt::format(R"({{"mesh_shape": [{}], "device_coordinates": [{}]}})", fmt::join(topology->mesh_shape(), ", "),
                     fmt::join(tasks, ", "));
}

}  // namespace

Result<std::string> describe_tpu(const Environment& env, Deadline deadline) {
  const Found found = TFD_TRY(find_tpus(env, deadline));
  const auto names = names_of(found.devices);
  const auto counts = TFD_TRY(resolve::tpu_system_metadata(names));
  std::vector<std::string> devices;
  for (std::size_t i = 0; i < names.size(); ++i)
    devices.push_back(fmt::format(R"({{"name": "{}", "id": {}, "kind": {}}})", names[i], found.devices[i].id,
                                  quoted(found.devices[i].kind)));
  return fmt::format(
      R"({{"num_cores": {}, "num_hosts": {}, "num_of_cores_per_host": {}, "topology": {}, "devices": [{}]}})",
      counts.num_cores, counts.num_hosts, counts.num_of_cores_per_host, text_of(found.topology),
      fmt::join(devices, ", "));
}

resolve::DeviceLister make_device_lister(const Environment& env) {
  return [env](Deadline deadline) -> Result<std::vector<std::string>> {
    return names_of(TFD_TRY(find_tpus(env, deadline)).devices);
  };
}

}  // namespace tfd::tool_resolve
