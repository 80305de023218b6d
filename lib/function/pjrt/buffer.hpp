#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// PJRT buffers: host memory that a device reads, copies of it, results, and their transfer to the host. Thread rule:
// thread-safe.
#include <memory>

#include "client.hpp"
#include "tfd/function/device.hpp"
#include "tfd/function/resident.hpp"

namespace tfd::function {

/// One buffer on one device. It keeps the host memory alive that XLA may read instead of a copy.
class Buffer {
 public:
  /// Takes the handle. `client` is shared: buffers outlive the engine and its functions.
  Buffer(std::shared_ptr<const Client> client, PJRT_Device* device, PJRT_Buffer* handle, tensor::TensorSpec spec)
      : client_(std::move(client)), device_(device), handle_(handle), spec_(std::move(spec)) {}
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;
  /// Blocks until XLA no longer reads the host's memory, so that its sole owner may write to it again.
  ~Buffer();

  /// Makes a buffer for one call: XLA reads the tensor's memory in place if it is aligned and the device shares the
  /// host's memory.
  static Result<std::shared_ptr<Buffer>> lend(std::shared_ptr<const Client> client, PJRT_Device* device,
                                              const tensor::Tensor& value);
  /// Makes a buffer in the device's own memory.
  static Result<std::shared_ptr<Buffer>> copy(std::shared_ptr<const Client> client, PJRT_Device* device,
                                              const tensor::Tensor& value);
  /// Returns the buffer behind a tensor that is on this device already; for a resident tensor its copy there; or
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

/// Transfers buffers, which must be ready, to the host. Copies, if any are needed, run concurrently.
Result<std::vector<tensor::Tensor>> to_host(const std::vector<std::shared_ptr<const Buffer>>& buffers);

class Executable;

/// The one place where a process ends because of its devices: the remaining ones wait for a collective that never
/// comes, and no later program would run.
[[noreturn]] void end_process(const Executable& executable, const Error& error);

/// A DeviceBuffer on the device at that position.
class SharedBuffer final : public DeviceBuffer {
 public:
  /// `of_several`: the program on several devices whose result it is; null if it isn't one's.
  SharedBuffer(std::shared_ptr<Buffer> buffer, int device, std::shared_ptr<const Executable> of_several = {})
      : spec_(buffer->spec()), device_(device), buffer_(std::move(buffer)), of_several_(std::move(of_several)) {}
  const tensor::TensorSpec& spec() const override { return spec_; }
  int device() const override { return device_; }
  Result<void> await() const override;
  Result<tensor::Tensor> to_host() const override;

  /// The buffer; null if it was donated.
  const std::shared_ptr<Buffer>& buffer() const { return buffer_; }
  void give_away() { buffer_.reset(); }

 private:
  tensor::TensorSpec spec_;
  int device_;
  std::shared_ptr<Buffer> buffer_;  // shared with tensors that the host reads in place, and with calls in flight
  std::shared_ptr<const Executable> of_several_;
};

PJRT_Buffer_Type buffer_type(tensor::DType dtype);
/// kUnimplemented for a type that tfd has no dtype for.
Result<tensor::DType> dtype_of(PJRT_Buffer_Type type);

}  // namespace tfd::function
