#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// A PJRT client with the devices that calls run on. No buffers and no modules here.
// Thread rule: thread-safe.
#include <algorithm>
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api.hpp"
#include "client_options.hpp"
#include "tfd/function/device.hpp"
#include "tfd/function/function.hpp"
#include "tfd/function/hosts.hpp"

namespace tfd::function {

// The callbacks by which a PJRT client accesses the hosts' key-value store. Thread-safe: a plug-in calls them from any
// thread until its client is destroyed.

class KeyValues {
 public:
  explicit KeyValues(std::shared_ptr<HostExchange> exchange) : exchange_(std::move(exchange)) {}
  KeyValues(const KeyValues&) = delete;
  KeyValues& operator=(const KeyValues&) = delete;

  /// Adds all three callbacks: a client that lacks one uses none. This object must outlive the client.
  void add_to(PJRT_Client_Create_Args& args);

 private:
  static PJRT_Error* get(PJRT_KeyValueGetCallback_Args* args);
  static PJRT_Error* try_get(PJRT_KeyValueTryGetCallback_Args* args);
  static PJRT_Error* put(PJRT_KeyValuePutCallback_Args* args);

  std::shared_ptr<HostExchange> exchange_;  // shared with its maker
};

struct MadeClient {
  PJRT_Client* client = nullptr;
  std::size_t attempt = 0;  // the way in which it was made
};
/// Creates a client in the first of these ways that the plug-in accepts. `key_values`: of the ways that exchange.
Result<MadeClient> create_client(const Api& api, const std::vector<ClientAttempt>& attempts,
                                 KeyValues* key_values = nullptr);
/// Lists all devices of a client by process and id; without other hosts' where the plug-in can't tell.
Result<std::vector<DeviceInfo>> list_client_devices(const Api& api, PJRT_Client* client);
/// Index of this process among the processes whose devices the client knows; 0 where the plug-in doesn't say.
Result<int> find_process_index(const Api& api, PJRT_Client* client);
Result<DeviceInfo> describe_device(const Api& api, PJRT_Device* device);
Result<DeviceInfo> describe_device(const Api& api, PJRT_DeviceDescription* description);
/// A numeric attribute of the device; nullopt if the plug-in doesn't report it.
std::optional<std::int64_t> find_attribute(const Api& api, PJRT_DeviceDescription* description, std::string_view name);

PluginInfo describe_plugin(const Api& api, const std::string& path, const std::string& platform);
/// kInvalidArgument: no devices, or a number that isn't a multiple of the logical devices.
Result<void> check_logical_devices(std::size_t devices, int logical_devices);

class Client {
 public:
  /// Makes a client of this host's devices at EngineOptions::positions, as its hosts and options say.
  /// kFailedPrecondition if the plug-in finds fewer, or another number of hosts; errors of the exchange with other
  /// hosts; kUnimplemented: the plug-in doesn't support several hosts.
  static Result<std::shared_ptr<const Client>> make(const Api& api, const EngineOptions& options,
                                                    const std::vector<int>& positions);
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;
  ~Client();

  const Api& api() const { return api_; }
  PJRT_Client* handle() const { return handle_; }
  PJRT_Device* device() const { return devices_.front(); }
  const std::vector<PJRT_Device*>& devices() const { return devices_; }   // as many as were asked for
  const std::vector<DeviceInfo>& device_infos() const { return infos_; }  // of these
  const std::vector<DeviceInfo>& system() const { return system_; }       // of all hosts, by process and id
  int hosts() const { return hosts_; }                                    // in the system
  int process_index() const { return process_index_; }
  /// Hosts::on_failure, of several hosts.
  void report_failure(const Error& error) const {
    if (hosts_ > 1 && on_failure_) on_failure_(error);
  }
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
  Result<void> find_platform();
  Result<void> find_devices(const std::vector<int>& positions);
  Result<void> find_system(const Hosts& asked);

  Api api_;
  std::unique_ptr<KeyValues> key_values_;  // null: one host
  PJRT_Client* handle_;
  std::string platform_, platform_version_;
  std::vector<PJRT_Device*> devices_;
  std::vector<DeviceInfo> infos_, system_;
  int hosts_ = 1, process_index_ = 0;
  std::function<void(const Error&)> on_failure_;
  mutable std::atomic<std::uint64_t> put_{0}, taken_{0};  // bytes
};

}  // namespace tfd::function
