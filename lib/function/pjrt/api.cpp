// SPDX-License-Identifier: Apache-2.0
#include "api.hpp"

#include <dlfcn.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstring>

#include "tfd/base/text.hpp"

namespace tfd::function {
namespace {

struct Needed {
  std::size_t offset;
  const char* name;
};
#define TFD_NEEDS(function) \
  { offsetof(PJRT_Api, function), #function }
constexpr Needed kNeeded[] = {
    TFD_NEEDS(PJRT_Error_Destroy),
    TFD_NEEDS(PJRT_Error_Message),
    TFD_NEEDS(PJRT_Error_GetCode),
    TFD_NEEDS(PJRT_Plugin_Initialize),
    TFD_NEEDS(PJRT_Event_Destroy),
    TFD_NEEDS(PJRT_Event_Await),
    TFD_NEEDS(PJRT_Client_Create),
    TFD_NEEDS(PJRT_Client_Destroy),
    TFD_NEEDS(PJRT_Client_PlatformName),
    TFD_NEEDS(PJRT_Client_AddressableDevices),
    TFD_NEEDS(PJRT_Client_Compile),
    TFD_NEEDS(PJRT_Client_BufferFromHostBuffer),
    TFD_NEEDS(PJRT_Device_GetDescription),
    TFD_NEEDS(PJRT_DeviceDescription_Id),
    TFD_NEEDS(PJRT_Executable_Destroy),
    TFD_NEEDS(PJRT_Executable_NumOutputs),
    TFD_NEEDS(PJRT_LoadedExecutable_Destroy),
    TFD_NEEDS(PJRT_LoadedExecutable_GetExecutable),
    TFD_NEEDS(PJRT_LoadedExecutable_Execute),
    TFD_NEEDS(PJRT_Executable_OutputElementTypes),
    TFD_NEEDS(PJRT_Executable_OutputDimensions),
    TFD_NEEDS(PJRT_Buffer_Destroy),
    TFD_NEEDS(PJRT_Buffer_UnsafePointer),
    TFD_NEEDS(PJRT_Buffer_ReadyEvent),
    TFD_NEEDS(PJRT_Buffer_ToHostBuffer),
};
#undef TFD_NEEDS

bool table_has(const PJRT_Api* table, std::size_t offset) {
  if (table->struct_size < offset + sizeof(void*)) return false;
  void* function = nullptr;
  std::memcpy(&function, reinterpret_cast<const char*>(table) + offset, sizeof(function));
  return function != nullptr;
}

/// PJRT's codes are absl's, and so are tfd's names for them.
Code code_of(PJRT_Error_Code code) {
  switch (code) {
    case PJRT_Error_Code_CANCELLED:
      return Code::kCancelled;
    case PJRT_Error_Code_INVALID_ARGUMENT:
      return Code::kInvalidArgument;
    case PJRT_Error_Code_DEADLINE_EXCEEDED:
      return Code::kDeadlineExceeded;
    case PJRT_Error_Code_NOT_FOUND:
      return Code::kNotFound;
    case PJRT_Error_Code_ALREADY_EXISTS:
      return Code::kAlreadyExists;
    case PJRT_Error_Code_UNAUTHENTICATED:
    case PJRT_Error_Code_PERMISSION_DENIED:
      return Code::kPermissionDenied;
    case PJRT_Error_Code_RESOURCE_EXHAUSTED:
      return Code::kResourceExhausted;
    case PJRT_Error_Code_FAILED_PRECONDITION:
      return Code::kFailedPrecondition;
    case PJRT_Error_Code_ABORTED:
      return Code::kAborted;
    case PJRT_Error_Code_OUT_OF_RANGE:
      return Code::kOutOfRange;
    case PJRT_Error_Code_UNIMPLEMENTED:
      return Code::kUnimplemented;
    case PJRT_Error_Code_INTERNAL:
      return Code::kInternal;
    case PJRT_Error_Code_UNAVAILABLE:
      return Code::kUnavailable;
    case PJRT_Error_Code_DATA_LOSS:
      return Code::kDataLoss;
    default:
      return Code::kUnknown;
  }
}

std::string first_line(std::string_view text) {
  text = text.substr(0, text.find('\n'));
  return printable(text.substr(0, 500));
}

}  // namespace

Result<Api> Api::load(const std::string& path) {
  if (::access(path.c_str(), R_OK) != 0) {
    const auto unreadable = fail_errno(errno, "cannot load the PJRT plug-in " + path);
    return fail(Code::kFailedPrecondition, "{}", unreadable.value().message);
  }
  void* handle = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr)
    return fail(Code::kFailedPrecondition, "cannot load the PJRT plug-in {}: {}", path, first_line(::dlerror()));
  const auto get_api = reinterpret_cast<const PJRT_Api* (*)()>(::dlsym(handle, "GetPjrtApi"));
  if (get_api == nullptr)
    return fail(Code::kFailedPrecondition, "{} is not a PJRT plug-in: it has no GetPjrtApi", path);
  const PJRT_Api* table = get_api();
  if (table == nullptr || table->struct_size < offsetof(PJRT_Api, PJRT_Error_Destroy))
    return fail(Code::kFailedPrecondition, "{} is not a PJRT plug-in: GetPjrtApi returned no table of functions", path);
  const PJRT_Api_Version& version = table->pjrt_api_version;
  if (version.major_version != PJRT_API_MAJOR)
    return fail(Code::kFailedPrecondition, "the PJRT plug-in {} has API {}.{}, but tfd needs {}.x", path,
                version.major_version, version.minor_version, PJRT_API_MAJOR);
  for (const Needed& needed : kNeeded)
    if (!table_has(table, needed.offset))
      return fail(Code::kFailedPrecondition, "the PJRT plug-in {} is too old: its API {}.{} has no {}", path,
                  version.major_version, version.minor_version, needed.name);
  const Api api(table);
  TFD_PJRT_ARGS(PJRT_Plugin_Initialize_Args, initialize);
  TFD_TRY(api.check(table->PJRT_Plugin_Initialize(&initialize), "the PJRT plug-in " + path));
  return api;
}

bool Api::has(std::size_t offset) const { return table_has(table_, offset); }

Result<void> Api::check(PJRT_Error* error, std::string_view what) const {
  if (error == nullptr) return {};
  TFD_PJRT_ARGS(PJRT_Error_Message_Args, message);
  message.error = error;
  table_->PJRT_Error_Message(&message);
  TFD_PJRT_ARGS(PJRT_Error_GetCode_Args, code);
  code.error = error;
  PJRT_Error* nested = table_->PJRT_Error_GetCode(&code);
  Error out{code_of(code.code), first_line({message.message, message.message_size}), {}};
  if (!what.empty()) out = std::move(out).within(what);
  TFD_PJRT_ARGS(PJRT_Error_Destroy_Args, destroy);
  for (PJRT_Error* each : {error, nested}) {
    if (each == nullptr) continue;
    destroy.error = each;
    table_->PJRT_Error_Destroy(&destroy);
  }
  return fail(std::move(out));
}

Result<void> Api::await(PJRT_Event* event, std::string_view what) const {
  if (event == nullptr) return {};
  TFD_PJRT_ARGS(PJRT_Event_Await_Args, args);
  args.event = event;
  PJRT_Error* error = table_->PJRT_Event_Await(&args);
  destroy(event);
  return check(error, what);
}

void Api::destroy(PJRT_Event* event) const {
  if (event == nullptr) return;
  TFD_PJRT_ARGS(PJRT_Event_Destroy_Args, args);
  args.event = event;
  (void)check(table_->PJRT_Event_Destroy(&args), "event");
}

void Api::destroy(PJRT_Buffer* buffer) const {
  if (buffer == nullptr) return;
  TFD_PJRT_ARGS(PJRT_Buffer_Destroy_Args, args);
  args.buffer = buffer;
  (void)check(table_->PJRT_Buffer_Destroy(&args), "buffer");
}

std::vector<std::int64_t> Api::stablehlo_version() const {
  if (!has(offsetof(PJRT_Api, PJRT_Plugin_Attributes))) return {};
  TFD_PJRT_ARGS(PJRT_Plugin_Attributes_Args, args);
  if (!check(table_->PJRT_Plugin_Attributes(&args), "attributes")) return {};
  for (std::size_t i = 0; i < args.num_attributes; ++i) {
    const PJRT_NamedValue& value = args.attributes[i];
    if (std::string_view(value.name, value.name_size) == "stablehlo_current_version" &&
        value.type == PJRT_NamedValue_kInt64List)
      return {value.int64_array_value, value.int64_array_value + value.value_size};
  }
  return {};
}

}  // namespace tfd::function
