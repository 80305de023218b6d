// SPDX-License-Identifier: Apache-2.0
#include "buffer.hpp"

#include <array>
#include <cstdio>
#include <cstdlib>
#include <numeric>
#include <utility>

#include "executable.hpp"
#include "tfd/base/exit_code.hpp"

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

/// Host view of a buffer on a device that shares the host's memory.
class BufferStorage final : public tensor::Storage {
 public:
  BufferStorage(std::shared_ptr<const Buffer> buffer, const std::byte* data)
      : buffer_(std::move(buffer)), data_(data) {}
  const std::byte* data() const override { return data_; }
  const std::shared_ptr<const Buffer>& buffer() const { return buffer_; }

 private:
  std::shared_ptr<const Buffer> buffer_;  // with programs that have it as an argument
  const std::byte* data_;
};

Result<tensor::Tensor> in_place(const std::shared_ptr<const Buffer>& buffer) {
  const Api& api = buffer->client().api();
  TFD_PJRT_ARGS(PJRT_Buffer_UnsafePointer_Args, args);
  args.buffer = buffer->handle();
  TFD_TRY(api.check(api->PJRT_Buffer_UnsafePointer(&args), "cannot read a result"));
  // A result without elements may have no memory, but a tensor's pointer is never null.
  const auto* data = args.buffer_pointer == 0 ? kNoBytes : reinterpret_cast<const std::byte*>(args.buffer_pointer);
  const tensor::TensorSpec& spec = buffer->spec();
  return tensor::Tensor(spec.dtype, spec.shape, std::make_shared<BufferStorage>(buffer, data));
}

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

Buffer::~Buffer() {
  client_->api().destroy(handle_);
  // An XLA thread may hold the buffer for some microseconds after the execution was reported as ended. Results never
  // hold it: without donation XLA copies an argument that is a result.
  (void)client_->api().await(host_is_free_, "argument");
}

Result<std::shared_ptr<Buffer>> Buffer::make(std::shared_ptr<const Client> client, PJRT_Device* device,
                                             const tensor::Tensor& value, PJRT_HostBufferSemantics semantics) {
  const Api& api = client->api();
  TFD_PJRT_ARGS(PJRT_Client_BufferFromHostBuffer_Args, args);
  args.client = client->handle();
  args.data = value.data();
  args.type = buffer_type(value.dtype());
  args.dims = value.shape().data();
  args.num_dims = value.shape().size();
  args.host_buffer_semantics = semantics;
  args.device = device;
  TFD_TRY(api.check(api->PJRT_Client_BufferFromHostBuffer(&args), "cannot pass an argument"));
  client->count_put(value.byte_size());
  auto out = std::make_shared<Buffer>(std::move(client), device, args.buffer, value.spec());
  out->host_is_free_ = args.done_with_host_buffer;
  if (semantics != PJRT_HostBufferSemantics_kImmutableOnlyDuringCall) out->host_ = value;
  return out;
}

Result<std::shared_ptr<Buffer>> Buffer::lend(std::shared_ptr<const Client> client, PJRT_Device* device,
                                             const tensor::Tensor& value) {
  const bool aligned = reinterpret_cast<std::uintptr_t>(value.data()) % tensor::kAlignment == 0;
  // XLA reads aligned memory in place and copies other memory at once.
  return make(
      std::move(client), device, value,
      aligned ? PJRT_HostBufferSemantics_kImmutableZeroCopy : PJRT_HostBufferSemantics_kImmutableOnlyDuringCall);
}

// Waits for the transfer, so that the value isn't kept twice, on the host and the device.
Result<std::shared_ptr<Buffer>> Buffer::copy(std::shared_ptr<const Client> client, PJRT_Device* device,
                                             const tensor::Tensor& value) {
  auto out = TFD_TRY(make(std::move(client), device, value, PJRT_HostBufferSemantics_kImmutableUntilTransferCompletes));
  TFD_TRY(out->client().api().await(std::exchange(out->host_is_free_, nullptr), "cannot put a value on a device"));
  out->host_ = {};
  return out;
}

Result<std::shared_ptr<Buffer>> Buffer::of(std::shared_ptr<const Client> client, PJRT_Device* device,
                                           const tensor::Tensor& value) {
  if (const auto* there = dynamic_cast<const BufferStorage*>(value.storage().get());
      there != nullptr && &there->buffer()->client() == client.get() && there->buffer()->device() == device &&
      value.offset() == 0 && there->buffer()->spec() == value.spec())
    return std::const_pointer_cast<Buffer>(there->buffer());
  if (const ResidentStorage* const resident = ResidentStorage::find(value)) return keep(client, device, *resident);
  return lend(std::move(client), device, value);
}

// Devices with memory of their own get a copy, so that the host's needn't be kept.
Result<std::shared_ptr<Buffer>> Buffer::keep(const std::shared_ptr<const Client>& client, PJRT_Device* device,
                                             const ResidentStorage& resident) {
  const auto is_here = [&](const DeviceBuffer& one) {
    const auto* const shared = dynamic_cast<const SharedBuffer*>(&one);
    return shared != nullptr && shared->buffer() != nullptr && &shared->buffer()->client() == client.get() &&
           shared->buffer()->device() == device;
  };
  const auto put = [&](const tensor::Tensor& host) -> Result<DeviceBufferPtr> {
    auto made = client->has_host_memory() ? of(client, device, host) : copy(client, device, host);
    return std::make_shared<SharedBuffer>(TFD_TRY(std::move(made)), client->position_of(device));
  };
  const DeviceBufferPtr found = TFD_TRY(resident.find_or_make(is_here, put));
  return dynamic_cast<const SharedBuffer&>(*found).buffer();
}

Result<void> Buffer::await() const {
  const Api& api = client_->api();
  TFD_PJRT_ARGS(PJRT_Buffer_ReadyEvent_Args, args);
  args.buffer = handle_;
  TFD_TRY(api.check(api->PJRT_Buffer_ReadyEvent(&args), "a result"));
  return api.await(args.event, "");
}

Result<std::vector<tensor::Tensor>> to_host(const std::vector<std::shared_ptr<const Buffer>>& buffers) {
  std::vector<tensor::Tensor> out;
  std::vector<PJRT_Event*> copied;
  std::optional<Error> failed;
  for (const auto& buffer : buffers) {
    const Client& client = buffer->client();
    const tensor::TensorSpec& spec = buffer->spec();
    client.count_taken(static_cast<std::size_t>(tensor::element_count(spec.shape)) * dtype_size(spec.dtype));
    if (client.has_host_memory()) {
      out.push_back(TFD_TRY(in_place(buffer)));
      continue;
    }
    tensor::Tensor copy = tensor::Tensor::uninitialized(spec.dtype, spec.shape);
    std::vector<std::int64_t> minor_to_major(spec.shape.size());
    std::iota(minor_to_major.rbegin(), minor_to_major.rend(), 0);
    PJRT_Buffer_MemoryLayout layout{};  // row-major, whatever the device's layout
    layout.struct_size = PJRT_Buffer_MemoryLayout_STRUCT_SIZE;
    layout.type = PJRT_Buffer_MemoryLayout_Type_Tiled;
    layout.tiled.struct_size = PJRT_Buffer_MemoryLayout_Tiled_STRUCT_SIZE;
    layout.tiled.minor_to_major = minor_to_major.data();
    layout.tiled.minor_to_major_size = minor_to_major.size();
    TFD_PJRT_ARGS(PJRT_Buffer_ToHostBuffer_Args, args);
    args.src = buffer->handle();
    args.host_layout = &layout;
    args.dst = copy.mutable_data();
    args.dst_size = copy.byte_size();
    const auto begun = client.api().check(client.api()->PJRT_Buffer_ToHostBuffer(&args), "cannot read a result");
    if (!begun) {
      failed = begun.error();
      break;
    }
    copied.push_back(args.event);
    out.push_back(std::move(copy));
  }
  for (PJRT_Event* event : copied) {  // wait for all of them: they write into our memory
    const auto done = buffers.front()->client().api().await(event, "cannot read a result");
    if (!done && !failed) failed = done.error();
  }
  if (failed) return fail(std::move(*failed));
  return out;
}

void end_process(const Executable& executable, const Error& error) {
  executable.client()->report_failure(error);
  std::fputs(fmt::format("tfd: {} has failed on one of several devices, and the others can't go on: {}\n",
                         executable.name(), error.message)
                 .c_str(),
             stderr);
  std::_Exit(number_of(ExitCode::kBug));
}

Result<void> SharedBuffer::await() const {
  if (buffer_ == nullptr) return fail(Code::kFailedPrecondition, "the buffer was donated to a program");
  auto done = buffer_->await();
  if (!done && of_several_ != nullptr) end_process(*of_several_, done.error());
  return done;
}

Result<tensor::Tensor> SharedBuffer::to_host() const {
  TFD_TRY(await());
  auto values = TFD_TRY(function::to_host({buffer_}));
  return std::move(values.front());
}

}  // namespace tfd::function
