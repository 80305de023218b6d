// SPDX-License-Identifier: Apache-2.0
#include "devices.hpp"

#include <unistd.h>

#include <array>
#include <map>

#include "plugin_options.hpp"
#include "tfd/base/text.hpp"
#include "tfd/base/units.hpp"
#include "tfd/function/devices.hpp"
#include "tfd/function/function.hpp"

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

/// "2x2x1": the product.
Result<int> count_chips(const std::string& topology) {
  std::int64_t chips = 1;
  for (const std::string& side : split(topology, 'x')) {
    chips *= TFD_TRY(parse_integer(side, 1, kMostPlayed), "TFD_TPU_TOPOLOGY");
    if (chips > kMostPlayed)
      return fail(Code::kInvalidArgument, "TFD_TPU_TOPOLOGY: {} is more than {} chips", printable(topology),
                  kMostPlayed);
  }
  return static_cast<int>(chips);
}

/// TensorFlow's names; a device's index counts from 0 on each host.
std::vector<std::string> named(const std::vector<function::DeviceInfo>& devices) {
  std::map<int, int> next;
  std::vector<std::string> out;
  for (const function::DeviceInfo& device : devices)
    out.push_back(fmt::format("/job:localhost/replica:0/task:{}/device:TPU:{}", device.process_index,
                              next[device.process_index]++));
  return out;
}

Result<std::vector<std::string>> list_tpus(const Environment& env) {
  keep_plugins_quiet();
  if (const auto topology = env.get("TFD_TPU_TOPOLOGY"); !topology.empty()) {
    const int chips = TFD_TRY(count_chips(topology));
    return named(TFD_TRY(function::list_devices(TFD_TRY(function::find_plugin(env)), chips)));
  }
  const std::string plugin = TFD_TRY(find_libtpu(env));
  auto devices = function::list_devices(plugin);
  if (!devices) return fail(Code::kNotFound, "no TPU device: {}", devices.error().message);
  return named(*devices);
}

}  // namespace

resolve::DeviceLister make_device_lister(const Environment& env) {
  return [env](Deadline deadline) -> Result<std::vector<std::string>> {
    if (deadline.expired()) return fail(Code::kDeadlineExceeded, "no time left to list the TPU's devices");
    return list_tpus(env);
  };
}

}  // namespace tfd::tool_resolve
