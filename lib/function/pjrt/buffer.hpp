#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Buffers of PJRT: host memory that a device reads, copies of it, results, and their way back to the host.
// Thread rule: thread-safe.
#include <memory>

#include "client.hpp"
#include "tfd/function/device.hpp"
#include "tfd/function/resident.hpp"

namespace tfd::function {

/// One buffer on one device. With it lives the host memory that XLA may read instead of a copy.
class Buffer {
 public:
  /// Takes the handle. `client` is shared: buffers outlive the engine and its functions.
  Buffer(std::shared_ptr<const Client> client, PJRT_Device* device, PJRT_Buffer* handle, tensor::TensorSpec spec)
      : client_(std::move(client)), device_(device), handle_(handle), spec_(std::move(spec)) {}
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;
  /// Returns when XLA no longer reads the host's memory, so that whoever owns that alone may write to it again.
  ~Buffer();

  /// For a call: XLA reads the tensor's memory itself where it is aligned and the host's is the device's.
  static Result<std::shared_ptr<Buffer>> lend(std::shared_ptr<const Client> client, PJRT_Device* device,
                                              const tensor::Tensor& value);
  /// In memory of the device's own.
  static Result<std::shared_ptr<Buffer>> copy(std::shared_ptr<const Client> client, PJRT_Device* device,
                                              const tensor::Tensor& value);
  /// The buffer behind a tensor that is one of this device's already; of a resident one that which stays there; or
  /// lend().
  static Result<std::shared_ptr<Buffer>> of(std::shared_ptr<const Client> client, PJRT_Device* device,
                                            const tensor::Tensor& value);

  PJRT_Buffer* handle() const { return handle_; }
  const Client& client() const { return *client_; }
  const PJRT_Device* device() const { return device_; }
  const tensor::TensorSpec& spec() const { return spec_; }
  Result<void> await() const;

 private:
  static Result<std::shared_ptr<Buffer>> keep(const std::shared_ptr<const Client>& client, PJRT_Device* device,
                                              const ResidentStorage& resident);
  static Result<std::shared_ptr<Buffer>> make(std::shared_ptr<const Client> client, PJRT_Device* device,
                                              const tensor::Tensor& value, PJRT_HostBufferSemantics semantics);

  std::shared_ptr<const Client> client_;
  PJRT_Device* device_;
  PJRT_Buffer* handle_;
  tensor::TensorSpec spec_;
  tensor::Tensor host_ = {};            // while XLA may read it
  PJRT_Event* host_is_free_ = nullptr;  // XLA no longer does
};

/// What buffers, which must be ready, are for the host. All copies are under way at once, where there have to be any.
Result<std::vector<tensor::Tensor>> to_host(const std::vector<std::shared_ptr<const Buffer>>& buffers);

class Executable;

/// The one place where a process ends for what devices do: those that are left wait for a collective that never comes,
/// and no later program would run.
[[noreturn]] void end_process(const Executable& executable, const Error& error);

/// DeviceBuffer of a buffer on the device at that position.
class SharedBuffer final : public DeviceBuffer {
 public:
  /// `of_several`: the program on several devices whose result it is; null: of one, or none.
  SharedBuffer(std::shared_ptr<Buffer> buffer, int device, std::shared_ptr<const Executable> of_several = {})
      : spec_(buffer->spec()), device_(device), buffer_(std::move(buffer)), of_several_(std::move(of_several)) {}
  const tensor::TensorSpec& spec() const override { return spec_; }
  int device() const override { return device_; }
  Result<void> await() const override;
  Result<tensor::Tensor> to_host() const override;

  /// Null: a program has taken it over.
  const std::shared_ptr<Buffer>& buffer() const { return buffer_; }
  void give_away() { buffer_.reset(); }

 private:
  tensor::TensorSpec spec_;
  int device_;
  std::shared_ptr<Buffer> buffer_;  // with tensors that the host reads in place, and calls under way
  std::shared_ptr<const Executable> of_several_;
};

PJRT_Buffer_Type buffer_type(tensor::DType dtype);
/// kUnimplemented for a type that tfd has no dtype for.
Result<tensor::DType> dtype_of(PJRT_Buffer_Type type);

}  // namespace tfd::function
