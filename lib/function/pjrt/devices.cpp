// SPDX-License-Identifier: Apache-2.0
#include "tfd/function/devices.hpp"

#include <algorithm>
#include <cstddef>
#include <memory>
#include <tuple>

#include "client.hpp"

namespace tfd::function {
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
  for (std::size_t i = 0; i < listed.num_devices; ++i) out.push_back(TFD_TRY(describe_device(api, listed.devices[i])));
  std::sort(out.begin(), out.end(), [](const DeviceInfo& a, const DeviceInfo& b) {
    return std::tie(a.process_index, a.id) < std::tie(b.process_index, b.id);
  });
  return out;
}

}  // namespace tfd::function
