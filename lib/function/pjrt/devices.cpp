// SPDX-License-Identifier: Apache-2.0
#include "tfd/function/devices.hpp"

#include <algorithm>
#include <cstddef>
#include <memory>
#include <tuple>

#include "client.hpp"

namespace tfd::function {
namespace {

Result<DeviceInfo> describe(const Api& api, PJRT_Device* device) {
  DeviceInfo info;
  TFD_PJRT_ARGS(PJRT_Device_GetDescription_Args, description);
  description.device = device;
  TFD_TRY(api.check(api->PJRT_Device_GetDescription(&description), "cannot describe a device"));
  TFD_PJRT_ARGS(PJRT_DeviceDescription_Id_Args, id);
  id.device_description = description.device_description;
  TFD_TRY(api.check(api->PJRT_DeviceDescription_Id(&id), "cannot describe a device"));
  info.id = id.id;
  if (api.has(offsetof(PJRT_Api, PJRT_DeviceDescription_ProcessIndex))) {
    TFD_PJRT_ARGS(PJRT_DeviceDescription_ProcessIndex_Args, process);
    process.device_description = description.device_description;
    TFD_TRY(api.check(api->PJRT_DeviceDescription_ProcessIndex(&process), "cannot describe a device"));
    info.process_index = process.process_index;
  }
  if (api.has(offsetof(PJRT_Api, PJRT_DeviceDescription_Kind))) {
    TFD_PJRT_ARGS(PJRT_DeviceDescription_Kind_Args, kind);
    kind.device_description = description.device_description;
    TFD_TRY(api.check(api->PJRT_DeviceDescription_Kind(&kind), "cannot describe a device"));
    info.kind.assign(kind.device_kind, kind.device_kind_size);
  }
  return info;
}

}  // namespace

Result<std::vector<DeviceInfo>> list_devices(const std::string& plugin, int cpu_devices) {
  const Api api = TFD_TRY(Api::load(plugin));
  if (!api.has(offsetof(PJRT_Api, PJRT_Client_Devices)))
    return fail(Code::kFailedPrecondition, "the PJRT plug-in {} is too old: it can't list its devices", plugin);
  PJRT_Client* made = TFD_TRY(create_client(api, cpu_devices));
  const auto destroy = [&api](PJRT_Client* client) {
    TFD_PJRT_ARGS(PJRT_Client_Destroy_Args, args);
    args.client = client;
    (void)api.check(api->PJRT_Client_Destroy(&args), "client");
  };
  const std::unique_ptr<PJRT_Client, decltype(destroy)> client(made, destroy);
  TFD_PJRT_ARGS(PJRT_Client_Devices_Args, listed);
  listed.client = client.get();
  TFD_TRY(api.check(api->PJRT_Client_Devices(&listed), "cannot list the devices"));
  std::vector<DeviceInfo> out;
  for (std::size_t i = 0; i < listed.num_devices; ++i) out.push_back(TFD_TRY(describe(api, listed.devices[i])));
  std::sort(out.begin(), out.end(), [](const DeviceInfo& a, const DeviceInfo& b) {
    return std::tie(a.process_index, a.id) < std::tie(b.process_index, b.id);
  });
  return out;
}

}  // namespace tfd::function
