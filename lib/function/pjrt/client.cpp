// SPDX-License-Identifier: Apache-2.0
#include "client.hpp"

#include <array>
#include <utility>

namespace tfd::function {
namespace {

using tensor::DType;

constexpr std::array<std::pair<DType, PJRT_Buffer_Type>, 13> kTypes{{{DType::kBool, PJRT_Buffer_Type_PRED},
                                                                     {DType::kS8, PJRT_Buffer_Type_S8},
                                                                     {DType::kS16, PJRT_Buffer_Type_S16},
                                                                     {DType::kS32, PJRT_Buffer_Type_S32},
                                                                     {DType::kS64, PJRT_Buffer_Type_S64},
                                                                     {DType::kU8, PJRT_Buffer_Type_U8},
                                                                     {DType::kU16, PJRT_Buffer_Type_U16},
                                                                     {DType::kU32, PJRT_Buffer_Type_U32},
                                                                     {DType::kU64, PJRT_Buffer_Type_U64},
                                                                     {DType::kF16, PJRT_Buffer_Type_F16},
                                                                     {DType::kBF16, PJRT_Buffer_Type_BF16},
                                                                     {DType::kF32, PJRT_Buffer_Type_F32},
                                                                     {DType::kF64, PJRT_Buffer_Type_F64}}};

alignas(tensor::kAlignment) constexpr std::byte kNoBytes[tensor::kAlignment]{};

}  // namespace

PJRT_Buffer_Type buffer_type(DType dtype) {
  for (const auto& [known, type] : kTypes)
    if (known == dtype) return type;
  return PJRT_Buffer_Type_INVALID;
}

Result<DType> dtype_of(PJRT_Buffer_Type type) {
  for (const auto& [dtype, known] : kTypes)
    if (known == type) return dtype;
  return fail(Code::kUnimplemented, "element type {} of PJRT is not supported", static_cast<int>(type));
}

Result<PJRT_Client*> create_client(const Api& api, int cpu_devices) {
  constexpr std::string_view kOption = "cpu_device_count";  // left out, xla-cpu-pjrt makes four
  PJRT_NamedValue option{};
  option.struct_size = PJRT_NamedValue_STRUCT_SIZE;
  option.name = kOption.data();
  option.name_size = kOption.size();
  option.type = PJRT_NamedValue_kInt64;
  option.int64_value = cpu_devices;
  option.value_size = 1;
  TFD_PJRT_ARGS(PJRT_Client_Create_Args, create);
  create.create_options = &option;
  create.num_options = cpu_devices > 0 ? 1 : 0;
  TFD_TRY(api.check(api->PJRT_Client_Create(&create), "cannot create a PJRT client"));
  return create.client;
}

Result<std::shared_ptr<const Client>> Client::make(const Api& api, int device_count) {
  PJRT_Client* made = TFD_TRY(create_client(api, device_count));
  std::shared_ptr<Client> client(new Client(api, made));
  TFD_PJRT_ARGS(PJRT_Client_AddressableDevices_Args, devices);
  devices.client = made;
  TFD_TRY(api.check(api->PJRT_Client_AddressableDevices(&devices), "cannot list the devices"));
  const std::size_t wanted = static_cast<std::size_t>(device_count);
  if (devices.num_addressable_devices == 0) return fail(Code::kFailedPrecondition, "the PJRT plug-in found no device");
  if (devices.num_addressable_devices < wanted)
    return fail(Code::kFailedPrecondition, "the PJRT plug-in found {} device{}, not {}",
                devices.num_addressable_devices, devices.num_addressable_devices == 1 ? "" : "s", wanted);
  client->devices_.assign(devices.addressable_devices, devices.addressable_devices + wanted);
  return client;
}

Client::~Client() {
  TFD_PJRT_ARGS(PJRT_Client_Destroy_Args, args);
  args.client = handle_;
  (void)api_.check(api_->PJRT_Client_Destroy(&args), "client");
}

Result<int> Client::device_id() const {
  TFD_PJRT_ARGS(PJRT_Device_GetDescription_Args, description);
  description.device = device();
  TFD_TRY(api_.check(api_->PJRT_Device_GetDescription(&description), "cannot describe a device"));
  TFD_PJRT_ARGS(PJRT_DeviceDescription_Id_Args, id);
  id.device_description = description.device_description;
  TFD_TRY(api_.check(api_->PJRT_DeviceDescription_Id(&id), "cannot describe a device"));
  return id.id;
}

std::string Client::platform() const {
  TFD_PJRT_ARGS(PJRT_Client_PlatformName_Args, args);
  args.client = handle_;
  if (!api_.check(api_->PJRT_Client_PlatformName(&args), "platform")) return "";
  return std::string(args.platform_name, args.platform_name_size);
}

Result<std::shared_ptr<BufferStorage>> BufferStorage::make(std::shared_ptr<const Client> client, PJRT_Device* device,
                                                           PJRT_Buffer* buffer, tensor::TensorSpec spec) {
  std::shared_ptr<BufferStorage> storage(new BufferStorage(std::move(client), device, buffer, std::move(spec)));
  const Api& api = storage->client_->api();
  TFD_PJRT_ARGS(PJRT_Buffer_UnsafePointer_Args, args);
  args.buffer = buffer;
  TFD_TRY(api.check(api->PJRT_Buffer_UnsafePointer(&args), "cannot read a result"));
  // A result without elements may have no memory, but a tensor's pointer is never null.
  storage->data_ = args.buffer_pointer == 0 ? kNoBytes : reinterpret_cast<const std::byte*>(args.buffer_pointer);
  return storage;
}

BufferStorage::~BufferStorage() { client_->api().destroy(buffer_); }

Result<ArgumentBuffer> ArgumentBuffer::make(const Client& client, PJRT_Device* device, const tensor::Tensor& tensor) {
  if (const auto* there = dynamic_cast<const BufferStorage*>(tensor.storage().get());
      there != nullptr && there->client() == &client && there->device() == device && tensor.offset() == 0 &&
      there->spec() == tensor.spec())
    return ArgumentBuffer(client, there->buffer());
  const Api& api = client.api();
  const bool aligned = reinterpret_cast<std::uintptr_t>(tensor.data()) % tensor::kAlignment == 0;
  TFD_PJRT_ARGS(PJRT_Client_BufferFromHostBuffer_Args, args);
  args.client = client.handle();
  args.data = tensor.data();
  args.type = buffer_type(tensor.dtype());
  args.dims = tensor.shape().data();
  args.num_dims = tensor.shape().size();
  // XLA reads aligned memory in place; for other it makes its own copy, at once.
  args.host_buffer_semantics =
      aligned ? PJRT_HostBufferSemantics_kImmutableZeroCopy : PJRT_HostBufferSemantics_kImmutableOnlyDuringCall;
  args.device = device;
  TFD_TRY(api.check(api->PJRT_Client_BufferFromHostBuffer(&args), "cannot pass an argument"));
  ArgumentBuffer out(client, args.buffer);
  out.owned_ = true;
  out.done_ = args.done_with_host_buffer;
  return out;
}

ArgumentBuffer::ArgumentBuffer(ArgumentBuffer&& other) noexcept
    : client_(other.client_),
      buffer_(other.buffer_),
      owned_(std::exchange(other.owned_, false)),
      done_(std::exchange(other.done_, nullptr)) {}

ArgumentBuffer::~ArgumentBuffer() {
  if (!owned_) return;
  client_->api().destroy(buffer_);
  // A thread of XLA may hold the buffer for some microseconds after it said that the execution has ended. Results never
  // hold it: without donation XLA copies an argument that is a result.
  (void)client_->api().await(done_, "argument");
}

}  // namespace tfd::function
