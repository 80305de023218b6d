#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// A PJRT client with the devices that calls run on. No buffers and no modules here.
// Thread rule: thread-safe.
#include <algorithm>
#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api.hpp"
#include "key_values.hpp"
#include "tfd/function/device.hpp"
#include "tfd/function/function.hpp"

namespace tfd::function {

/// Creates a client; with that many devices if they are a CPU's, whose programs run on the calling thread: a handover
/// takes longer than a small program. Other plug-ins refuse unknown options, and get none.
Result<PJRT_Client*> create_client(const Api& api, int cpu_devices);
Result<DeviceInfo> describe_device(const Api& api, PJRT_Device* device);
Result<DeviceInfo> describe_device(const Api& api, PJRT_DeviceDescription* description);
/// A numeric attribute of the device; nullopt if the plug-in doesn't report it.
std::optional<std::int64_t> find_attribute(const Api& api, PJRT_DeviceDescription* description, std::string_view name);

PluginInfo describe_plugin(const Api& api, const std::string& path, const std::string& platform);
/// kInvalidArgument: no devices, or a number that isn't a multiple of the logical devices.
Result<void> check_logical_devices(std::size_t devices, int logical_devices);

class Client {
 public:
  /// Makes a client of this host's devices at these positions. kFailedPrecondition if the plug-in finds fewer; errors
  /// of the exchange with other hosts; kUnimplemented: the plug-in doesn't support several hosts.
  static Result<std::shared_ptr<const Client>> make(const Api& api, const std::vector<int>& positions,
                                                    const Hosts& hosts = {});
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;
  ~Client();

  const Api& api() const { return api_; }
  PJRT_Client* handle() const { return handle_; }
  PJRT_Device* device() const { return devices_.front(); }
  const std::vector<PJRT_Device*>& devices() const { return devices_; }   // as many as were asked for
  const std::vector<DeviceInfo>& device_infos() const { return infos_; }  // of these
  const std::string& platform() const { return platform_; }
  /// Version of the plug-in, or of the driver below it; empty if it isn't reported.
  const std::string& platform_version() const { return platform_version_; }
  /// Position of a device in devices().
  int position_of(const PJRT_Device* device) const {
    return static_cast<int>(std::ranges::find(devices_, device) - devices_.begin());
  }
  /// nullopt where the plug-in doesn't say.
  std::optional<DeviceMemory> memory(std::size_t position) const;
  /// Whether the host can read the devices' memory.
  bool has_host_memory() const { return function::has_host_memory(platform_); }

  void count_put(std::size_t bytes) const { put_.fetch_add(bytes, std::memory_order_relaxed); }
  void count_taken(std::size_t bytes) const { taken_.fetch_add(bytes, std::memory_order_relaxed); }
  Transfers transfers() const { return {put_, taken_}; }

 private:
  Client(const Api& api, PJRT_Client* handle, std::unique_ptr<KeyValues> key_values)
      : api_(api), key_values_(std::move(key_values)), handle_(handle) {}
  Result<void> find_devices(const std::vector<int>& positions, int wanted);

  Api api_;
  std::unique_ptr<KeyValues> key_values_;  // null: one host
  PJRT_Client* handle_;
  std::string platform_, platform_version_;
  std::vector<PJRT_Device*> devices_;
  std::vector<DeviceInfo> infos_;
  mutable std::atomic<std::uint64_t> put_{0}, taken_{0};  // bytes
};

}  // namespace tfd::function
