// SPDX-License-Identifier: Apache-2.0
//
// A PJRT plug-in for tests whose clients are hosts of one system of devices, as those of GPUs and TPUs are: the real
// CPU plug-in (TFD_TEST_PLUGIN, or the build's), whose client has the devices of all hosts here, of which only this
// host's can be reached from outside. A program over devices of several hosts is executed when all of them execute it:
// they send each other their arguments through sockets, and each computes all of it. So what crosses hosts is what an
// all-reduce would bring, and a host that doesn't come is waited for without an end, as NCCL waits.
//
// TFD_TEST_PLATFORM: "cuda" (options node_id, num_nodes and visible_devices, and an exchange by the callbacks), or
// "tpu" (neither; TPU_WORKER_ID of TFD_TEST_HOSTS, which meet at the socket TFD_TEST_MEETING). TFD_TEST_DEVICES: each
// host's. TFD_TEST_WAIT_MS: how long one waits for another's key. TFD_TEST_DIES_AT: the second host's process ends in
// its launch of that number, from 0 on. Like the real ones it refuses options that it doesn't know.
#include <dlfcn.h>
#include <pjrt_c_api.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <numeric>
#include <set>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "host_buffers.hpp"
#include "host_sockets.hpp"
#include "wrapped_plugin.hpp"

namespace {

using namespace host_sockets;
using namespace wrapped_plugin;

std::string_view platform() {
  const char* const name = std::getenv("TFD_TEST_PLATFORM");
  return name == nullptr ? "cuda" : name;
}
bool is_tpu() { return platform() == "tpu"; }
int number(const char* name, int otherwise) {
  const char* const text = std::getenv(name);
  return text == nullptr ? otherwise : std::atoi(text);
}

// ---- hosts

struct Host {
  PJRT_Client_Create_Args with;
  int node = 0, nodes = 1;
  std::vector<int> counts;        // devices by node
  std::vector<PJRT_Device*> own;  // of this host
  std::map<const PJRT_Device*, int> node_of;
  std::vector<int> sockets;  // the first host's to each other one; each other one's to the first
  std::mutex launching;      // one at a time, in the same order on all hosts
  int launches = 0;
};
std::map<const PJRT_Client*, std::shared_ptr<Host>> g_hosts;
struct Loaded {
  std::shared_ptr<Host> host;
  std::vector<PJRT_Device*> all, own;  // that it runs on
};
std::map<const PJRT_LoadedExecutable*, std::shared_ptr<Loaded>> g_loaded;
std::map<const PJRT_DeviceDescription*, std::pair<int, int>> g_descriptions;  // node, and number in the system

template <class Map, class Key>
typename Map::mapped_type find(const Map& map, const Key& key) {
  const std::scoped_lock lock(g_mutex);
  const auto found = map.find(key);
  return found == map.end() ? typename Map::mapped_type() : found->second;
}

PJRT_Error* put(const PJRT_Client_Create_Args& with, const std::string& key, const std::string& value) {
  auto args = ARGS(PJRT_KeyValuePutCallback_Args);
  args.key = key.data();
  args.key_size = key.size();
  args.value = value.data();
  args.value_size = value.size();
  args.callback_error = &g_callback_error;
  args.user_arg = with.kv_put_user_arg;
  return with.kv_put_callback(&args);
}
PJRT_Error* get(const PJRT_Client_Create_Args& with, const std::string& key, std::string& value) {
  auto args = ARGS(PJRT_KeyValueGetCallback_Args);
  args.key = key.data();
  args.key_size = key.size();
  args.timeout_in_ms = number("TFD_TEST_WAIT_MS", 60000);
  args.callback_error = &g_callback_error;
  args.user_arg = with.kv_get_user_arg;
  TRY(with.kv_get_callback(&args));
  value.assign(args.value, args.value_size);
  args.value_deleter_callback(args.value);
  return nullptr;
}

std::vector<std::string> gather(const Host& host, std::string mine) {
  std::vector<std::string> all(static_cast<size_t>(host.nodes));
  if (host.node > 0) {
    send_all(host.sockets.front(), mine);
    for (std::string& one : all) one = receive_all(host.sockets.front());
    return all;
  }
  all.front() = std::move(mine);
  for (size_t i = 1; i < all.size(); ++i) all[i] = receive_all(host.sockets[i - 1]);
  for (const int socket : host.sockets)
    for (const std::string& one : all) send_all(socket, one);
  return all;
}

PJRT_Error* connect_hosts(Host& host, int listener, const std::string& path) {
  if (host.node > 0) {
    host.sockets.push_back(connect_to(path));
    if (host.sockets.front() < 0) return refuse("no first host at " + path, PJRT_Error_Code_UNAVAILABLE);
    send_all(host.sockets.front(), std::to_string(host.node));
    return nullptr;
  }
  host.sockets.resize(static_cast<size_t>(host.nodes - 1));
  for (int i = 1; i < host.nodes; ++i) {
    const int socket = ::accept4(listener, nullptr, nullptr, SOCK_CLOEXEC);
    host.sockets[static_cast<size_t>(std::atoi(receive_all(socket).c_str()) - 1)] = socket;
  }
  ::close(listener);
  return nullptr;
}

/// Fails unless a key that nobody has put is not found, at once.
PJRT_Error* look_for_nothing(const PJRT_Client_Create_Args& with) {
  const std::string key = "nobody/has/put\n\x01this";
  auto args = ARGS(PJRT_KeyValueTryGetCallback_Args);
  args.key = key.data();
  args.key_size = key.size();
  args.callback_error = &g_callback_error;
  args.user_arg = with.kv_try_get_user_arg;
  PJRT_Error* const absent = with.kv_try_get_callback(&args);
  if (absent == nullptr) return refuse("try_get found what isn't there");
  if (own(absent)->code != PJRT_Error_Code_NOT_FOUND) return absent;
  PJRT_Error_Destroy_Args gone{};
  gone.error = absent;
  destroy_error(&gone);
  return nullptr;
}

/// A host's description of its devices: their number, and as many bytes as a real one's topology may have, all zero.
std::string topology_of(int count) { return std::to_string(1000 + count) + std::string(70'000, '\0'); }

/// The exchange is that of xla::ExchangeTopologies: each host puts its own, the first puts all of them.
PJRT_Error* exchange(Host& host, int count) {
  const std::string path = "/tmp/tfd-hosts-" + std::to_string(::getpid()) + "-" + std::to_string(host.launches);
  int listener = -1;
  if (host.node == 0) {
    static std::mutex one_at_a_time;
    static int made = 0;
    const std::scoped_lock lock(one_at_a_time);
    const std::string own_path = path + "." + std::to_string(made++);
    listener = listen_at(own_path);
    if (listener < 0) return refuse("cannot listen at " + own_path, PJRT_Error_Code_INTERNAL);
    TRY(put(host.with, "meeting", own_path));
  }
  TRY(look_for_nothing(host.with));
  TRY(put(host.with, "local_topology/cuda/" + std::to_string(host.node), topology_of(count)));
  if (host.node == 0) {
    std::string all;
    for (int i = 0; i < host.nodes; ++i) {
      std::string one;
      TRY(get(host.with, "local_topology/cuda/" + std::to_string(i), one));
      all += one;
    }
    TRY(put(host.with, "global_topology/cuda", all));
  }
  std::string all, meeting;
  TRY(get(host.with, "global_topology/cuda", all));
  TRY(get(host.with, "meeting", meeting));
  const size_t size = topology_of(0).size();
  if (all.size() != size * static_cast<size_t>(host.nodes)) return refuse("the hosts' topologies have changed");
  for (int i = 0; i < host.nodes; ++i)
    host.counts.push_back(std::atoi(all.data() + static_cast<size_t>(i) * size) - 1000);
  TRY(connect_hosts(host, listener, meeting));
  if (host.node == 0) ::unlink(meeting.c_str());
  return nullptr;
}

PJRT_Error* meet_as_tpu(Host& host, int count) {
  host.counts.assign(static_cast<size_t>(host.nodes), count);
  if (host.nodes == 1) return nullptr;
  const char* const meeting = std::getenv("TFD_TEST_MEETING");
  if (meeting == nullptr) return refuse("no TFD_TEST_MEETING");
  const int listener = host.node == 0 ? listen_at(meeting) : -1;
  if (host.node == 0 && listener < 0) return refuse("cannot listen", PJRT_Error_Code_INTERNAL);
  TRY(connect_hosts(host, listener, meeting));
  if (host.node == 0) ::unlink(meeting);
  return nullptr;
}

PJRT_NamedValue option(const char* name, PJRT_NamedValue_Type type, std::int64_t value) {
  PJRT_NamedValue out{};
  out.struct_size = PJRT_NamedValue_STRUCT_SIZE;
  out.name = name;
  out.name_size = std::strlen(name);
  out.type = type;
  out.value_size = 1;
  if (type == PJRT_NamedValue_kBool)
    out.bool_value = value != 0;
  else
    out.int64_value = value;
  return out;
}

PJRT_Error* create_real(int devices, PJRT_Client** client) {
  const PJRT_NamedValue options[] = {option("cpu_device_count", PJRT_NamedValue_kInt64, devices),
                                     option("asynchronous", PJRT_NamedValue_kBool, 0)};
  for (size_t count = 2;; --count) {
    auto args = ARGS(PJRT_Client_Create_Args);
    args.create_options = options;
    args.num_options = count;
    PJRT_Error* const error = g_real->PJRT_Client_Create(&args);
    *client = args.client;
    if (error == nullptr || count == 1) return error;
    PJRT_Error_Destroy_Args gone{};
    gone.error = error;
    g_real->PJRT_Error_Destroy(&gone);
  }
}

/// Finds the client's devices, by number in the system, and whose they are.
PJRT_Error* find_devices(PJRT_Client* client, Host& host) {
  auto devices = ARGS(PJRT_Client_Devices_Args);
  devices.client = client;
  TRY(g_real->PJRT_Client_Devices(&devices));
  int node = 0, number = 0, left = host.counts.front();
  for (size_t i = 0; i < devices.num_devices; ++i, ++number, --left) {
    while (left == 0) left = host.counts[static_cast<size_t>(++node)];
    PJRT_Device* const device = devices.devices[i];
    auto described = ARGS(PJRT_Device_GetDescription_Args);
    described.device = device;
    TRY(g_real->PJRT_Device_GetDescription(&described));
    host.node_of[device] = node;
    if (node == host.node) host.own.push_back(device);
    const std::scoped_lock lock(g_mutex);
    g_descriptions[described.device_description] = {node, number};
  }
  return nullptr;
}

PJRT_Error* create(PJRT_Client_Create_Args* args) {
  auto host = std::make_shared<Host>();
  host->with = *args;
  int count = number("TFD_TEST_DEVICES", 2);
  if (is_tpu()) {
    host->node = number("TPU_WORKER_ID", 0);
    host->nodes = number("TFD_TEST_HOSTS", 1);
  }
  for (size_t i = 0; i < args->num_options; ++i) {
    const PJRT_NamedValue& one = args->create_options[i];
    const std::string name(one.name, one.name_size);
    const bool is_known = is_tpu() ? name == "max_inflight_computations"
                                   : name == "node_id" || name == "num_nodes" || name == "visible_devices" ||
                                         name == "memory_fraction" || name == "allocator" || name == "preallocate";
    if (!is_known) return refuse("Unexpected option name passed to PJRT_Client_Create: " + name);
    if (name == "node_id") host->node = static_cast<int>(one.int64_value);
    if (name == "num_nodes") host->nodes = static_cast<int>(one.int64_value);
    if (name == "visible_devices") count = static_cast<int>(one.value_size);
    if (name == "memory_fraction" && (one.type != PJRT_NamedValue_kFloat || one.float_value > 1))
      return refuse("memory_fraction must be a float below 1");
  }
  if (is_tpu()) {
    TRY(meet_as_tpu(*host, count));
  } else if (host->nodes > 1) {
    if (args->kv_get_callback == nullptr || args->kv_put_callback == nullptr || args->kv_try_get_callback == nullptr)
      return refuse("a client of several nodes without a store");
    PJRT_Error* error = nullptr;
    std::thread([&] { error = exchange(*host, count); }).join();
    TRY(error);
  } else {
    host->counts = {count};
  }
  TRY(create_real(std::accumulate(host->counts.begin(), host->counts.end(), 0), &args->client));
  TRY(find_devices(args->client, *host));
  const std::scoped_lock lock(g_mutex);
  g_hosts[args->client] = std::move(host);
  return nullptr;
}

PJRT_Error* destroy_client(PJRT_Client_Destroy_Args* args) {
  {
    const std::scoped_lock lock(g_mutex);
    if (const auto found = g_hosts.find(args->client); found != g_hosts.end()) {
      for (const int socket : found->second->sockets) ::close(socket);
      g_hosts.erase(found);
    }
  }
  return g_real->PJRT_Client_Destroy(args);
}

// ---- what a client says of itself

PJRT_Error* platform_name(PJRT_Client_PlatformName_Args* args) {
  args->platform_name = platform().data();
  args->platform_name_size = platform().size();
  return nullptr;
}
PJRT_Error* process_index(PJRT_Client_ProcessIndex_Args* args) {
  args->process_index = find(g_hosts, args->client)->node;
  return nullptr;
}
PJRT_Error* addressable_devices(PJRT_Client_AddressableDevices_Args* args) {
  const auto host = find(g_hosts, args->client);
  args->addressable_devices = host->own.data();
  args->num_addressable_devices = host->own.size();
  return nullptr;
}
PJRT_Error* device_process(PJRT_DeviceDescription_ProcessIndex_Args* args) {
  args->process_index = find(g_descriptions, args->device_description).first;
  return nullptr;
}
PJRT_Error* device_attributes(PJRT_DeviceDescription_Attributes_Args* args) {
  if (!is_tpu()) return g_real->PJRT_DeviceDescription_Attributes(args);
  // A row of chips of one core each.
  struct Attributes {
    std::int64_t coords[3];
    PJRT_NamedValue values[2];
  };
  static std::map<const PJRT_DeviceDescription*, Attributes> made;
  const std::int64_t x = find(g_descriptions, args->device_description).second;
  const std::scoped_lock lock(g_mutex);
  Attributes& own = made[args->device_description];
  own.coords[0] = x;
  own.values[0] = option("coords", PJRT_NamedValue_kInt64List, 0);
  own.values[0].int64_array_value = own.coords;
  own.values[0].value_size = 3;
  own.values[1] = option("core_on_chip", PJRT_NamedValue_kInt64, 0);
  args->attributes = own.values;
  args->num_attributes = 2;
  return nullptr;
}

// ---- programs

PJRT_Error* remember(const PJRT_Client* client, PJRT_LoadedExecutable* executable) {
  auto devices = ARGS(PJRT_LoadedExecutable_AddressableDevices_Args);
  devices.executable = executable;
  TRY(g_real->PJRT_LoadedExecutable_AddressableDevices(&devices));
  auto loaded = std::make_shared<Loaded>(Loaded{find(g_hosts, client), {}, {}});
  for (size_t i = 0; i < devices.num_addressable_devices; ++i) {
    PJRT_Device* const device = devices.addressable_devices[i];
    loaded->all.push_back(device);
    if (loaded->host->node_of.at(device) == loaded->host->node) loaded->own.push_back(device);
  }
  const std::scoped_lock lock(g_mutex);
  g_loaded[executable] = std::move(loaded);
  return nullptr;
}
PJRT_Error* compile(PJRT_Client_Compile_Args* args) {
  TRY(g_real->PJRT_Client_Compile(args));
  const auto host = find(g_hosts, args->client);  // a GPU's shares what it found out about kernels
  if (host->nodes > 1 && !is_tpu()) TRY(put(host->with, "autotuned/" + std::to_string(host->node), "fast"));
  return remember(args->client, args->executable);
}
PJRT_Error* load(PJRT_Executable_DeserializeAndLoad_Args* args) {
  TRY(g_real->PJRT_Executable_DeserializeAndLoad(args));
  return remember(args->client, args->loaded_executable);
}
PJRT_Error* destroy_loaded(PJRT_LoadedExecutable_Destroy_Args* args) {
  {
    const std::scoped_lock lock(g_mutex);
    g_loaded.erase(args->executable);
  }
  return g_real->PJRT_LoadedExecutable_Destroy(args);
}
PJRT_Error* devices_of_loaded(PJRT_LoadedExecutable_AddressableDevices_Args* args) {
  const auto loaded = find(g_loaded, args->executable);
  args->addressable_devices = loaded->own.data();
  args->num_addressable_devices = loaded->own.size();
  return nullptr;
}

PJRT_Client* client_of(const std::shared_ptr<Host>& host) {
  const std::scoped_lock lock(g_mutex);
  for (const auto& [client, one] : g_hosts)
    if (one == host) return const_cast<PJRT_Client*>(client);
  return nullptr;
}
PJRT_Error* count_results(PJRT_LoadedExecutable* executable, size_t* count) {
  auto inner = ARGS(PJRT_LoadedExecutable_GetExecutable_Args);
  inner.loaded_executable = executable;
  TRY(g_real->PJRT_LoadedExecutable_GetExecutable(&inner));
  auto outputs = ARGS(PJRT_Executable_NumOutputs_Args);
  outputs.executable = inner.executable;
  PJRT_Error* const error = g_real->PJRT_Executable_NumOutputs(&outputs);
  *count = outputs.num_outputs;
  auto gone = ARGS(PJRT_Executable_Destroy_Args);
  gone.executable = inner.executable;
  (void)g_real->PJRT_Executable_Destroy(&gone);
  return error;
}

/// All hosts come with their devices' arguments; each computes for all devices, and keeps its own results.
PJRT_Error* execute_with_others(const Loaded& loaded, PJRT_LoadedExecutable_Execute_Args* args) {
  Host& host = *loaded.host;
  const std::scoped_lock lock(host.launching);
  if (args->num_devices != loaded.own.size()) return refuse("arguments for other devices than this host's");
  if (host.node == 1 && host.launches == number("TFD_TEST_DIES_AT", -1)) (void)::kill(::getpid(), SIGKILL);
  if (host.launches++ == 0 && !is_tpu()) {  // as NCCL's ids
    if (host.node == 0) TRY(put(host.with, "clique/0", "id"));
    std::string id;
    TRY(get(host.with, "clique/0", id));
  }
  std::string mine;
  for (size_t slot = 0; slot < args->num_devices; ++slot)
    for (size_t i = 0; i < args->num_args; ++i) TRY(pack(args->argument_lists[slot][i], mine));
  const auto all = gather(host, std::move(mine));
  size_t results = 0;
  TRY(count_results(args->executable, &results));
  PJRT_Client* const client = client_of(loaded.host);
  std::vector<const char*> at;
  for (const std::string& one : all) at.push_back(one.data());
  std::vector<std::vector<PJRT_Buffer*>> inputs, outputs;
  std::vector<PJRT_Buffer*> foreign;
  std::vector<PJRT_Buffer* const*> input_lists;
  std::vector<PJRT_Buffer**> output_lists;
  size_t slot = 0;
  for (PJRT_Device* const device : loaded.all) {
    const auto node = static_cast<size_t>(host.node_of.at(device));
    const bool is_here = static_cast<int>(node) == host.node;
    auto& own = inputs.emplace_back();
    for (size_t i = 0; i < args->num_args; ++i) {
      own.push_back(is_here ? args->argument_lists[slot][i] : nullptr);
      if (is_here) continue;
      TRY(unpack(client, device, at[node], &own.back()));
      foreign.push_back(own.back());
    }
    outputs.emplace_back(results);
    slot += is_here ? 1 : 0;
  }
  for (size_t i = 0; i < loaded.all.size(); ++i) {
    input_lists.push_back(inputs[i].data());
    output_lists.push_back(outputs[i].data());
  }
  PJRT_LoadedExecutable_Execute_Args whole = *args;
  whole.num_devices = loaded.all.size();
  whole.argument_lists = input_lists.data();
  whole.output_lists = output_lists.data();
  whole.device_complete_events = nullptr;
  TRY(g_real->PJRT_LoadedExecutable_Execute(&whole));
  for (PJRT_Buffer* const one : foreign) destroy_buffer(one);
  slot = 0;
  for (size_t i = 0; i < loaded.all.size(); ++i) {
    const bool is_here = host.node_of.at(loaded.all[i]) == host.node;
    for (size_t r = 0; r < results; ++r) {
      if (is_here)
        args->output_lists[slot][r] = outputs[i][r];
      else
        destroy_buffer(outputs[i][r]);
    }
    slot += is_here ? 1 : 0;
  }
  return nullptr;
}

PJRT_Error* execute(PJRT_LoadedExecutable_Execute_Args* args) {
  const auto loaded = find(g_loaded, args->executable);
  if (args->execute_device != nullptr || loaded == nullptr || loaded->own.size() == loaded->all.size())
    return g_real->PJRT_LoadedExecutable_Execute(args);
  try {
    return execute_with_others(*loaded, args);
  } catch (const HostGone&) {
    return refuse("another host is gone", PJRT_Error_Code_UNAVAILABLE);
  }
}

}  // namespace

extern "C" const PJRT_Api* GetPjrtApi() {
  static PJRT_Api table;
  if (g_real != nullptr) return &table;
  const char* const real = std::getenv("TFD_TEST_PLUGIN");
  void* const handle = ::dlopen(real == nullptr ? TFD_TEST_CPU_PLUGIN : real, RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) return nullptr;
  g_real = reinterpret_cast<const PJRT_Api* (*)()>(::dlsym(handle, "GetPjrtApi"))();
  table = *g_real;
  table.PJRT_Error_Message = message_of;
  table.PJRT_Error_GetCode = code_of;
  table.PJRT_Error_Destroy = destroy_error;
  table.PJRT_Client_Create = create;
  table.PJRT_Client_Destroy = destroy_client;
  table.PJRT_Client_PlatformName = platform_name;
  table.PJRT_Client_ProcessIndex = process_index;
  table.PJRT_Client_AddressableDevices = addressable_devices;
  table.PJRT_DeviceDescription_ProcessIndex = device_process;
  table.PJRT_DeviceDescription_Attributes = device_attributes;
  table.PJRT_Client_Compile = compile;
  table.PJRT_Executable_DeserializeAndLoad = load;
  table.PJRT_LoadedExecutable_Destroy = destroy_loaded;
  table.PJRT_LoadedExecutable_AddressableDevices = devices_of_loaded;
  table.PJRT_LoadedExecutable_Execute = execute;
  return &table;
}
