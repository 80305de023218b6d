#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// A PJRT client with the devices that calls run on, and the way of tensors into its buffers and back. No modules here.
// Thread rule: thread-safe.
#include <memory>
#include <string>
#include <vector>

#include "api.hpp"
#include "tfd/tensor/tensor.hpp"

namespace tfd::function {

/// Without options unless they are a CPU's (`cpu_devices` above 0): other plug-ins refuse those that they don't know.
Result<PJRT_Client*> create_client(const Api& api, int cpu_devices);

class Client {
 public:
  /// kFailedPrecondition when the plug-in finds fewer devices.
  static Result<std::shared_ptr<const Client>> make(const Api& api, int device_count);
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;
  ~Client();

  const Api& api() const { return api_; }
  PJRT_Client* handle() const { return handle_; }
  PJRT_Device* device() const { return devices_.front(); }
  const std::vector<PJRT_Device*>& devices() const { return devices_; }  // as many as were asked for
  Result<int> device_id() const;
  std::string platform() const;

 private:
  Client(const Api& api, PJRT_Client* handle) : api_(api), handle_(handle) {}
  Api api_;
  PJRT_Client* handle_;
  std::vector<PJRT_Device*> devices_;
};

/// What a call returns: the bytes stay in the PJRT buffer and are read there.
class BufferStorage final : public tensor::Storage {
 public:
  /// Takes the buffer, which must be ready. `client` is shared: results outlive the engine and its functions.
  static Result<std::shared_ptr<BufferStorage>> make(std::shared_ptr<const Client> client, PJRT_Device* device,
                                                     PJRT_Buffer* buffer, tensor::TensorSpec spec);
  ~BufferStorage() override;
  const std::byte* data() const override { return data_; }

  const Client* client() const { return client_.get(); }
  const PJRT_Device* device() const { return device_; }
  PJRT_Buffer* buffer() const { return buffer_; }
  const tensor::TensorSpec& spec() const { return spec_; }

 private:
  BufferStorage(std::shared_ptr<const Client> client, PJRT_Device* device, PJRT_Buffer* buffer, tensor::TensorSpec spec)
      : client_(std::move(client)), device_(device), buffer_(buffer), spec_(std::move(spec)) {}
  std::shared_ptr<const Client> client_;
  PJRT_Device* device_;
  PJRT_Buffer* buffer_;
  tensor::TensorSpec spec_;
  const std::byte* data_ = nullptr;
};

/// A tensor on its way into a call on a device: as the buffer that it is there, or wrapped in one for the time of the
/// call. The tensor must outlive it.
class ArgumentBuffer {
 public:
  static Result<ArgumentBuffer> make(const Client& client, PJRT_Device* device, const tensor::Tensor& tensor);
  ArgumentBuffer(ArgumentBuffer&& other) noexcept;
  ArgumentBuffer& operator=(ArgumentBuffer&&) = delete;
  /// After the execution: returns when XLA says that it no longer reads the tensor's memory, so that whoever owns it
  /// alone may write to it again.
  ~ArgumentBuffer();

  PJRT_Buffer* buffer() const { return buffer_; }

 private:
  ArgumentBuffer(const Client& client, PJRT_Buffer* buffer) : client_(&client), buffer_(buffer) {}
  const Client* client_;
  PJRT_Buffer* buffer_;
  bool owned_ = false;
  PJRT_Event* done_ = nullptr;  // XLA no longer reads the tensor's memory
};

PJRT_Buffer_Type buffer_type(tensor::DType dtype);
/// kUnimplemented for a type that tfd has no dtype for.
Result<tensor::DType> dtype_of(PJRT_Buffer_Type type);

}  // namespace tfd::function
