// SPDX-License-Identifier: Apache-2.0
#include "client.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <set>
#include <span>
#include <string_view>
#include <utility>

namespace tfd::function {
namespace {

// Names of attributes of OpenXLA's GPU and TPU plug-ins.
constexpr std::array<std::string_view, 5> kCapabilities{"compute_capability", "core_count", "device_vendor",
                                                        "num_cores", "chip_type"};

Result<PJRT_Client*> create(const Api& api, std::span<const PJRT_NamedValue> options, KeyValues* key_values) {
  TFD_PJRT_ARGS(PJRT_Client_Create_Args, args);
  args.create_options = options.data();
  args.num_options = options.size();
  if (key_values != nullptr) key_values->add_to(args);
  TFD_TRY(api.check(api->PJRT_Client_Create(&args), "cannot create a PJRT client"));
  return args.client;
}

/// The plug-in's own attributes of the device; empty if there are none.
std::span<const PJRT_NamedValue> attributes_of(const Api& api, PJRT_DeviceDescription* description) {
  if (!api.has(offsetof(PJRT_Api, PJRT_DeviceDescription_Attributes))) return {};
  TFD_PJRT_ARGS(PJRT_DeviceDescription_Attributes_Args, args);
  args.device_description = description;
  if (!api.check(api->PJRT_DeviceDescription_Attributes(&args), "attributes")) return {};
  return {args.attributes, args.num_attributes};
}

const PJRT_NamedValue* find_value(const Api& api, PJRT_DeviceDescription* description, std::string_view name,
                                  PJRT_NamedValue_Type type) {
  for (const PJRT_NamedValue& one : attributes_of(api, description))
    if (std::string_view(one.name, one.name_size) == name && one.type == type) return &one;
  return nullptr;
}

/// The attributes that code is compiled for; others tell a device's location and id.
std::string capability_of(const Api& api, PJRT_DeviceDescription* description) {
  std::string out;
  for (const PJRT_NamedValue& one : attributes_of(api, description)) {
    const std::string_view name(one.name, one.name_size);
    if (std::ranges::find(kCapabilities, name) == kCapabilities.end()) continue;
    if (one.type == PJRT_NamedValue_kString)
      out += fmt::format("{}{}={}", out.empty() ? "" : " ", name, std::string_view(one.string_value, one.value_size));
    if (one.type == PJRT_NamedValue_kInt64)
      out += fmt::format("{}{}={}", out.empty() ? "" : " ", name, one.int64_value);
  }
  return out;
}

}  // namespace

Result<MadeClient> create_client(const Api& api, const std::vector<ClientAttempt>& attempts, KeyValues* key_values) {
  for (std::size_t i = 0;; ++i) {
    auto client = create(api, named_values(attempts[i].options), attempts[i].exchanges ? key_values : nullptr);
    if (client) return MadeClient{*client, i};
    if (i + 1 == attempts.size() || client.error().code != Code::kInvalidArgument) return fail(client.error());
  }
}

Result<std::vector<DeviceInfo>> list_client_devices(const Api& api, PJRT_Client* client) {
  std::vector<DeviceInfo> out;
  if (!api.has(offsetof(PJRT_Api, PJRT_Client_Devices))) return out;
  TFD_PJRT_ARGS(PJRT_Client_Devices_Args, listed);
  listed.client = client;
  TFD_TRY(api.check(api->PJRT_Client_Devices(&listed), "cannot list the devices"));
  for (std::size_t i = 0; i < listed.num_devices; ++i) out.push_back(TFD_TRY(describe_device(api, listed.devices[i])));
  std::ranges::sort(out, {}, [](const DeviceInfo& one) { return std::pair(one.process_index, one.id); });
  return out;
}

Result<int> find_process_index(const Api& api, PJRT_Client* client) {
  if (!api.has(offsetof(PJRT_Api, PJRT_Client_ProcessIndex))) return 0;
  TFD_PJRT_ARGS(PJRT_Client_ProcessIndex_Args, args);
  args.client = client;
  TFD_TRY(api.check(api->PJRT_Client_ProcessIndex(&args), "cannot ask for the process"));
  return args.process_index;
}

std::optional<std::int64_t> find_attribute(const Api& api, PJRT_DeviceDescription* description, std::string_view name) {
  const PJRT_NamedValue* const found = find_value(api, description, name, PJRT_NamedValue_kInt64);
  return found != nullptr ? std::optional(found->int64_value) : std::nullopt;
}

Result<DeviceInfo> describe_device(const Api& api, PJRT_Device* device) {
  TFD_PJRT_ARGS(PJRT_Device_GetDescription_Args, args);
  args.device = device;
  TFD_TRY(api.check(api->PJRT_Device_GetDescription(&args), "cannot describe a device"));
  return describe_device(api, args.device_description);
}

Result<DeviceInfo> describe_device(const Api& api, PJRT_DeviceDescription* description) {
  DeviceInfo info;
  TFD_PJRT_ARGS(PJRT_DeviceDescription_Id_Args, id);
  id.device_description = description;
  TFD_TRY(api.check(api->PJRT_DeviceDescription_Id(&id), "cannot describe a device"));
  info.id = id.id;
  if (api.has(offsetof(PJRT_Api, PJRT_DeviceDescription_ProcessIndex))) {
    TFD_PJRT_ARGS(PJRT_DeviceDescription_ProcessIndex_Args, process);
    process.device_description = description;
    TFD_TRY(api.check(api->PJRT_DeviceDescription_ProcessIndex(&process), "cannot describe a device"));
    info.process_index = process.process_index;
  }
  if (api.has(offsetof(PJRT_Api, PJRT_DeviceDescription_Kind))) {
    TFD_PJRT_ARGS(PJRT_DeviceDescription_Kind_Args, kind);
    kind.device_description = description;
    TFD_TRY(api.check(api->PJRT_DeviceDescription_Kind(&kind), "cannot describe a device"));
    info.kind.assign(kind.device_kind, kind.device_kind_size);
  }
  // Coordinates, which TPUs have.
  if (const auto* coords = find_value(api, description, "coords", PJRT_NamedValue_kInt64List))
    info.coords.assign(coords->int64_array_value, coords->int64_array_value + coords->value_size);
  info.core_on_chip = find_attribute(api, description, "core_on_chip");
  info.capability = capability_of(api, description);
  return info;
}

PluginInfo describe_plugin(const Api& api, const std::string& path, const std::string& platform) {
  PluginInfo info{.path = path, .platform = platform};
  info.api_major = api->pjrt_api_version.major_version;
  info.api_minor = api->pjrt_api_version.minor_version;
  info.stablehlo_current = api.stablehlo_version();
  return info;
}

Result<void> check_logical_devices(std::size_t devices, int logical_devices) {
  if (devices > 0 && logical_devices > 0 && devices % static_cast<std::size_t>(logical_devices) == 0) return {};
  return fail(Code::kInvalidArgument, "{} devices for replicas of {} logical devices", devices, logical_devices);
}

// A GPU plug-in gets `positions` among the GPUs visible to it, in ascending order; others get all devices.
Result<std::shared_ptr<const Client>> Client::make(const Api& api, const EngineOptions& options,
                                                   const std::vector<int>& positions) {
  const Hosts& hosts = options.hosts;
  const auto unimplemented = [&] {
    return fail(Code::kUnimplemented, "the plug-in knows the devices of its own host only, not of {} hosts",
                hosts.count);
  };
  std::vector<int> visible = positions;
  std::ranges::sort(visible);
  const ClientWish wish{.kind = options.device_kind,
                        .cpu_devices = visible.back() + 1,
                        .visible = visible,
                        .hosts = hosts.count,
                        .host = hosts.index,
                        .has_exchange = hosts.exchange != nullptr,
                        .own = options.client_options};
  std::unique_ptr<KeyValues> key_values;
  if (hosts.exchange != nullptr) key_values = std::make_unique<KeyValues>(hosts.exchange);
  const auto attempts = client_attempts(wish);
  const MadeClient made = TFD_TRY(create_client(api, attempts, key_values.get()));
  std::shared_ptr<Client> client(new Client(api, made.client, std::move(key_values)));
  client->on_failure_ = hosts.on_failure;
  TFD_TRY(client->find_platform());
  TFD_TRY(client->find_system(hosts));
  if (client->hosts_ == 1 && hosts.count > 1 && !hosts.may_be_alone) return unimplemented();
  std::vector<int> own = positions;
  if (attempts[made.attempt].chooses_devices)
    for (int& one : own) one = static_cast<int>(std::ranges::find(visible, one) - visible.begin());
  TFD_TRY(client->find_devices(own));
  return client;
}

Result<void> Client::find_platform() {
  const Api& api = api_;
  TFD_PJRT_ARGS(PJRT_Client_PlatformName_Args, name);
  name.client = handle_;
  TFD_TRY(api.check(api->PJRT_Client_PlatformName(&name), "cannot ask for the platform"));
  platform_.assign(name.platform_name, name.platform_name_size);
  if (!api.has(offsetof(PJRT_Api, PJRT_Client_PlatformVersion))) return {};
  TFD_PJRT_ARGS(PJRT_Client_PlatformVersion_Args, version);
  version.client = handle_;
  TFD_TRY(api.check(api->PJRT_Client_PlatformVersion(&version), "cannot ask for the platform's version"));
  platform_version_.assign(version.platform_version, version.platform_version_size);
  return {};
}

Result<void> Client::find_system(const Hosts& asked) {
  system_ = TFD_TRY(list_client_devices(api_, handle_));
  process_index_ = TFD_TRY(find_process_index(api_, handle_));
  std::set<int> processes;
  for (const DeviceInfo& one : system_) processes.insert(one.process_index);
  hosts_ = std::max(static_cast<int>(processes.size()), 1);
  // One that asks for no others uses its own devices by themselves.
  if (hosts_ == 1 || asked.count == 1 || hosts_ == asked.count) return {};
  return fail(Code::kFailedPrecondition, "the system has devices of {} hosts, not of {}", hosts_, asked.count);
}

Result<void> Client::find_devices(const std::vector<int>& positions) {
  const Api& api = api_;
  TFD_PJRT_ARGS(PJRT_Client_AddressableDevices_Args, devices);
  devices.client = handle_;
  TFD_TRY(api.check(api->PJRT_Client_AddressableDevices(&devices), "cannot list the devices"));
  if (devices.num_addressable_devices == 0) return fail(Code::kFailedPrecondition, "the PJRT plug-in found no device");
  const auto wanted = static_cast<std::size_t>(*std::ranges::max_element(positions)) + 1;
  if (devices.num_addressable_devices < wanted)
    return fail(Code::kFailedPrecondition, "the PJRT plug-in found {} device{}, not {}",
                devices.num_addressable_devices, devices.num_addressable_devices == 1 ? "" : "s", wanted);
  for (const int position : positions) devices_.push_back(devices.addressable_devices[position]);
  for (PJRT_Device* device : devices_) infos_.push_back(TFD_TRY(describe_device(api, device)));
  if (system_.empty()) system_ = infos_;
  return {};
}

Client::~Client() {
  TFD_PJRT_ARGS(PJRT_Client_Destroy_Args, args);
  args.client = handle_;
  (void)api_.check(api_->PJRT_Client_Destroy(&args), "client");
}

std::optional<DeviceMemory> Client::memory(std::size_t position) const {
  if (!api_.has(offsetof(PJRT_Api, PJRT_Device_MemoryStats))) return std::nullopt;
  TFD_PJRT_ARGS(PJRT_Device_MemoryStats_Args, args);
  args.device = devices_[position];
  if (!api_.check(api_->PJRT_Device_MemoryStats(&args), "memory")) return std::nullopt;
  DeviceMemory out{.in_use = args.bytes_in_use};
  if (args.peak_bytes_in_use_is_set) out.peak = args.peak_bytes_in_use;
  if (args.bytes_limit_is_set) out.limit = args.bytes_limit;
  return out;
}

namespace {

constexpr std::chrono::minutes kLongest{10};  // limit for a plug-in that would wait forever

PJRT_Error_Code code_of(Code code) {
  switch (code) {
    case Code::kNotFound:
      return PJRT_Error_Code_NOT_FOUND;
    case Code::kDeadlineExceeded:
      return PJRT_Error_Code_DEADLINE_EXCEEDED;
    case Code::kUnavailable:
      return PJRT_Error_Code_UNAVAILABLE;
    case Code::kCancelled:
      return PJRT_Error_Code_CANCELLED;
    case Code::kInvalidArgument:
      return PJRT_Error_Code_INVALID_ARGUMENT;
    default:
      return PJRT_Error_Code_INTERNAL;
  }
}

PJRT_Error* report(PJRT_CallbackError* callback, const Error& error) {
  return (*callback)(code_of(error.code), error.message.data(), error.message.size());
}

/// The plug-in copies the value and frees it by the given deleter.
template <class Args>
PJRT_Error* answer(Args* args, const Result<std::string>& value) {
  if (!value) return report(args->callback_error, value.error());
  args->value = new char[value->size()];
  std::ranges::copy(*value, args->value);
  args->value_size = value->size();
  args->value_deleter_callback = [](char* made) { delete[] made; };
  return nullptr;
}

}  // namespace

void KeyValues::add_to(PJRT_Client_Create_Args& args) {
  args.kv_get_callback = get;
  args.kv_try_get_callback = try_get;
  args.kv_put_callback = put;
  args.kv_get_user_arg = args.kv_try_get_user_arg = args.kv_put_user_arg = this;
}

PJRT_Error* KeyValues::get(PJRT_KeyValueGetCallback_Args* args) {
  const std::chrono::milliseconds asked(args->timeout_in_ms);
  const auto wait = asked.count() < 0 ? kLongest : std::min<std::chrono::milliseconds>(asked, kLongest);
  auto& exchange = *static_cast<KeyValues*>(args->user_arg)->exchange_;
  return answer(args, exchange.get(std::string(args->key, args->key_size), Deadline::after(wait)));
}

PJRT_Error* KeyValues::try_get(PJRT_KeyValueTryGetCallback_Args* args) {
  auto& exchange = *static_cast<KeyValues*>(args->user_arg)->exchange_;
  return answer(args, exchange.try_get(std::string(args->key, args->key_size)));
}

PJRT_Error* KeyValues::put(PJRT_KeyValuePutCallback_Args* args) {
  auto& exchange = *static_cast<KeyValues*>(args->user_arg)->exchange_;
  const auto done = exchange.put(std::string(args->key, args->key_size), std::string(args->value, args->value_size));
  return done ? nullptr : report(args->callback_error, done.error());
}

}  // namespace tfd::function
