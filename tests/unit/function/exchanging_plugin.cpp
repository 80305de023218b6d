// SPDX-License-Identifier: Apache-2.0
//
// A PJRT plug-in for tests: the real one of TFD_TEST_PLUGIN, whose clients exchange with those of other hosts as XLA's
// GPU client does. Creating one puts where its devices are, waits for what every other host puts, the first host puts
// what they make together, and all read that. Compiling puts another key, as NCCL's ids are, later. The exchange is
// bytes, some of them zero. TFD_TEST_WAIT_MS: how long a host waits for another one.
#include <dlfcn.h>
#include <pjrt_c_api.h>

#include <cstdlib>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

namespace {

/// An error of this plug-in's own, where the real one's functions expect theirs.
struct OwnError {
  PJRT_Error_Code code;
  std::string message;
};
std::mutex g_mutex;
std::set<const void*> g_errors;  // that are this plug-in's
struct Host {
  PJRT_Client_Create_Args with;
  int node;
};
std::map<const PJRT_Client*, Host> g_hosts;  // by client
const PJRT_Api* g_real = nullptr;

PJRT_Error* make_error(PJRT_Error_Code code, const char* message, size_t size) {
  auto* made = new OwnError{code, std::string(message, size)};
  const std::scoped_lock lock(g_mutex);
  g_errors.insert(made);
  return reinterpret_cast<PJRT_Error*>(made);
}
PJRT_Error* refuse(const std::string& message) {
  return make_error(PJRT_Error_Code_INVALID_ARGUMENT, message.data(), message.size());
}
PJRT_CallbackError g_callback_error = make_error;

const OwnError* own(const PJRT_Error* error) {
  const std::scoped_lock lock(g_mutex);
  return g_errors.contains(error) ? reinterpret_cast<const OwnError*>(error) : nullptr;
}
void message_of(PJRT_Error_Message_Args* args) {
  const OwnError* const error = own(args->error);
  if (error == nullptr) return g_real->PJRT_Error_Message(args);
  args->message = error->message.data();
  args->message_size = error->message.size();
}
PJRT_Error* code_of(PJRT_Error_GetCode_Args* args) {
  const OwnError* const error = own(args->error);
  if (error == nullptr) return g_real->PJRT_Error_GetCode(args);
  args->code = error->code;
  return nullptr;
}
void destroy(PJRT_Error_Destroy_Args* args) {
  const OwnError* const error = own(args->error);
  if (error == nullptr) return g_real->PJRT_Error_Destroy(args);
  {
    const std::scoped_lock lock(g_mutex);
    g_errors.erase(error);
  }
  delete error;
}

PJRT_Error* put(const PJRT_Client_Create_Args& with, const std::string& key, const std::string& value) {
  PJRT_KeyValuePutCallback_Args args{};
  args.struct_size = PJRT_KeyValuePutCallback_Args_STRUCT_SIZE;
  args.key = key.data();
  args.key_size = key.size();
  args.value = value.data();
  args.value_size = value.size();
  args.callback_error = &g_callback_error;
  args.user_arg = with.kv_put_user_arg;
  return with.kv_put_callback(&args);
}
PJRT_Error* get(const PJRT_Client_Create_Args& with, const std::string& key, std::string& value) {
  const char* const wait = std::getenv("TFD_TEST_WAIT_MS");
  PJRT_KeyValueGetCallback_Args args{};
  args.struct_size = PJRT_KeyValueGetCallback_Args_STRUCT_SIZE;
  args.key = key.data();
  args.key_size = key.size();
  args.timeout_in_ms = wait == nullptr ? 20000 : std::atoi(wait);
  args.callback_error = &g_callback_error;
  args.user_arg = with.kv_get_user_arg;
  if (PJRT_Error* const error = with.kv_get_callback(&args)) return error;
  value.assign(args.value, args.value_size);
  args.value_deleter_callback(args.value);
  return nullptr;
}
PJRT_Error* try_get(const PJRT_Client_Create_Args& with, const std::string& key, std::string& value) {
  PJRT_KeyValueTryGetCallback_Args args{};
  args.struct_size = PJRT_KeyValueTryGetCallback_Args_STRUCT_SIZE;
  args.key = key.data();
  args.key_size = key.size();
  args.callback_error = &g_callback_error;
  args.user_arg = with.kv_try_get_user_arg;
  if (PJRT_Error* const error = with.kv_try_get_callback(&args)) return error;
  value.assign(args.value, args.value_size);
  args.value_deleter_callback(args.value);
  return nullptr;
}

std::string local_key(int node) { return "local_topology/test/" + std::to_string(node); }

/// Exchanges like xla::ExchangeTopologies: each host puts its own, the first puts all of them.
PJRT_Error* exchange(const PJRT_Client_Create_Args& with, int node, int nodes) {
  std::string nothing;
  PJRT_Error* const absent = try_get(with, "nobody/has/put\n\x01this", nothing);
  if (absent == nullptr) return refuse("try_get found what isn't there");
  if (own(absent)->code != PJRT_Error_Code_NOT_FOUND) return absent;
  PJRT_Error_Destroy_Args gone{};
  gone.error = absent;
  destroy(&gone);
  const std::string mine = std::string("\0devices of ", 12) + std::to_string(node) + std::string(70'000, '\0');
  if (PJRT_Error* const error = put(with, local_key(node), mine)) return error;
  if (node == 0) {
    std::string all;
    for (int i = 0; i < nodes; ++i) {
      std::string one;
      if (PJRT_Error* const error = get(with, local_key(i), one)) return error;
      all += one;
    }
    if (PJRT_Error* const error = put(with, "global_topology/test", all)) return error;
  }
  std::string all, again;
  if (PJRT_Error* const error = get(with, "global_topology/test", all)) return error;
  if (PJRT_Error* const error = try_get(with, "global_topology/test", again)) return error;
  if (all.size() != static_cast<size_t>(nodes) * mine.size() || all != again || all.find(mine) == std::string::npos)
    return refuse("the hosts' topologies have changed on their way");
  return nullptr;
}

PJRT_Error* create(PJRT_Client_Create_Args* args) {
  int node = 0, nodes = 1;
  for (size_t i = 0; i < args->num_options; ++i) {
    const PJRT_NamedValue& option = args->create_options[i];
    const std::string name(option.name, option.name_size);
    if (name == "node_id") node = static_cast<int>(option.int64_value);
    if (name == "num_nodes") nodes = static_cast<int>(option.int64_value);
  }
  if (nodes > 1) {
    if (args->kv_get_callback == nullptr || args->kv_put_callback == nullptr || args->kv_try_get_callback == nullptr)
      return refuse("a client of several nodes without a store");
    // Clients use the store from several threads.
    PJRT_Error* error = nullptr;
    std::thread([&] { error = exchange(*args, node, nodes); }).join();
    if (error != nullptr) return error;
  }
  PJRT_NamedValue devices{};
  devices.struct_size = PJRT_NamedValue_STRUCT_SIZE;
  devices.name = "cpu_device_count";
  devices.name_size = 16;
  devices.type = PJRT_NamedValue_kInt64;
  devices.int64_value = 2;
  devices.value_size = 1;
  PJRT_Client_Create_Args real{};
  real.struct_size = PJRT_Client_Create_Args_STRUCT_SIZE;
  real.create_options = &devices;
  real.num_options = 1;
  PJRT_Error* const error = g_real->PJRT_Client_Create(&real);
  args->client = real.client;
  const std::scoped_lock lock(g_mutex);
  if (nodes > 1) g_hosts[args->client] = {*args, node};
  return error;
}

PJRT_Error* compile(PJRT_Client_Compile_Args* args) {
  Host host{};
  {
    const std::scoped_lock lock(g_mutex);
    if (const auto found = g_hosts.find(args->client); found != g_hosts.end()) host = found->second;
  }
  if (host.with.kv_put_callback != nullptr)
    if (PJRT_Error* const error = put(host.with, "clique/" + std::to_string(host.node), "id")) return error;
  return g_real->PJRT_Client_Compile(args);
}

}  // namespace

extern "C" const PJRT_Api* GetPjrtApi() {
  static PJRT_Api table;
  if (g_real != nullptr) return &table;
  void* const handle = ::dlopen(std::getenv("TFD_TEST_PLUGIN"), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) return nullptr;
  g_real = reinterpret_cast<const PJRT_Api* (*)()>(::dlsym(handle, "GetPjrtApi"))();
  table = *g_real;
  table.PJRT_Error_Message = message_of;
  table.PJRT_Error_GetCode = code_of;
  table.PJRT_Error_Destroy = destroy;
  table.PJRT_Client_Create = create;
  table.PJRT_Client_Compile = compile;
  return &table;
}
