// SPDX-License-Identifier: Apache-2.0
#include "tfd/function/devices.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <memory>
#include <numeric>

#include "client.hpp"
#include "tfd/base/text.hpp"
#include "tfd/base/units.hpp"

namespace tfd::function {
namespace {

constexpr int kMostDevices = 1024;
constexpr std::array<std::string_view, 3> kKinds{"cpu", "gpu", "tpu"};

/// "gpu:0", "gpu:all".
Result<void> add_device(std::string_view text, DeviceChoice& choice) {
  const std::size_t colon = text.find(':');
  const std::string_view kind = text.substr(0, colon);
  const auto refuse = [&](std::string_view why) {
    return fail(Code::kInvalidArgument, "'{}': {}", printable(text), why);
  };
  if (colon == std::string_view::npos || std::ranges::find(kKinds, kind) == kKinds.end())
    return refuse("must be a count, or devices such as cpu:0,cpu:1 or gpu:all");
  if (!choice.kind.empty() && choice.kind != kind) return refuse("one process has devices of one kind");
  const bool is_first = choice.kind.empty();
  choice.kind = kind;
  const std::string_view which = text.substr(colon + 1);
  if (which == "all") {
    if (kind == "cpu") return refuse("a CPU has as many devices as you like: write a count");
    if (!is_first) return refuse("stands alone");
    return {};
  }
  if (!is_first && choice.positions.empty()) return refuse("all of them are there already");
  const auto position = static_cast<int>(TFD_TRY(parse_integer(which, 0, kMostDevices - 1), printable(text)));
  if (std::ranges::find(choice.positions, position) != choice.positions.end()) return refuse("appears twice");
  choice.positions.push_back(position);
  return {};
}

}  // namespace

DeviceChoice first_devices(int count) {
  DeviceChoice choice;
  choice.positions.resize(static_cast<std::size_t>(count));
  std::iota(choice.positions.begin(), choice.positions.end(), 0);
  return choice;
}

Result<DeviceChoice> parse_device_choice(std::string_view text) {
  const bool is_count = !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
  if (is_count) return first_devices(static_cast<int>(TFD_TRY(parse_integer(text, 1, kMostDevices))));
  DeviceChoice choice;
  for (const std::string& one : split(text, ',')) TFD_TRY(add_device(one, choice));
  return choice;
}

bool is_of_kind(std::string_view platform, std::string_view kind) {
  return kind.empty() || platform == kind || (kind == "gpu" && (platform == "cuda" || platform == "rocm"));
}

std::vector<std::string> names_of_devices(const Engine& engine) {
  std::vector<std::string> out;
  for (const DeviceInfo& one : engine.devices()) out.push_back(fmt::format("{}:{}", engine.plugin().platform, one.id));
  for (int i = 0; i < engine.device_count() && engine.devices().empty(); ++i)
    out.push_back(fmt::format("{}:{}", engine.plugin().platform, i));
  return out;
}

Result<SystemDevices> list_system(const std::string& plugin, int cpu_devices) {
  const Api api = TFD_TRY(Api::load(plugin));
  if (!api.has(offsetof(PJRT_Api, PJRT_Client_Devices)))
    return fail(Code::kFailedPrecondition, "the PJRT plug-in {} is too old: it can't list its devices", plugin);
  PJRT_Client* const made = TFD_TRY(create_client(api, client_attempts({.cpu_devices = cpu_devices}))).client;
  const auto destroy = [&api](PJRT_Client* client) {
    TFD_PJRT_ARGS(PJRT_Client_Destroy_Args, args);
    args.client = client;
    (void)api.check(api->PJRT_Client_Destroy(&args), "client");
  };
  const std::unique_ptr<PJRT_Client, decltype(destroy)> client(made, destroy);
  SystemDevices out{TFD_TRY(list_client_devices(api, client.get())), 0};
  out.process_index = TFD_TRY(find_process_index(api, client.get()));
  return out;
}

Result<std::vector<DeviceInfo>> list_devices(const std::string& plugin, int cpu_devices) {
  return TFD_TRY(list_system(plugin, cpu_devices)).devices;
}

}  // namespace tfd::function
