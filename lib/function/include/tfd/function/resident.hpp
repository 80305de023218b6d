#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Tensors whose values are on devices. They behave like other tensors: their bytes are copied to the host when they are
// read, and a function gets the buffer on its device. Thread rule: thread-safe.
//
//   const tensor::Tensor weights = resident(loaded);
//   for (const auto& batch : batches) TFD_TRY(function->call({weights, batch}));   // they go to the device once
#include <functional>
#include <memory>

#include "tfd/function/device.hpp"
#include "tfd/tensor/tensor.hpp"

namespace tfd::function {

/// Makes a host tensor resident: each device that needs the value gets it once and keeps it as long as the tensor
/// exists. A resident tensor is returned unchanged.
tensor::Tensor resident(tensor::Tensor value);
/// Makes a tensor of equal copies on different devices; at least one, all of them present.
tensor::Tensor resident(DeviceBuffers copies);
/// Returns the same value, on the same devices, as another object.
tensor::Tensor alias_of(const tensor::Tensor& value);

/// Storage of a resident tensor.
class ResidentStorage final : public tensor::Storage {
 public:
  struct Value;
  explicit ResidentStorage(std::shared_ptr<Value> value) : value_(std::move(value)) {}
  /// Returns the storage if `value` is a whole resident tensor; else null.
  static const ResidentStorage* find(const tensor::Tensor& value);

  /// Returns the host's copy, which is kept from then on. A device that can no longer be read ends the process.
  const std::byte* data() const override;

  /// Returns the copy for which `is_wanted` is true; without one, `make` makes it from the host's value, and it is
  /// kept. Errors of `make`.
  Result<DeviceBufferPtr> find_or_make(
      const std::function<bool(const DeviceBuffer&)>& is_wanted,
      const std::function<Result<DeviceBufferPtr>(const tensor::Tensor& host)>& make) const;

 private:
  friend tensor::Tensor alias_of(const tensor::Tensor& value);
  std::shared_ptr<Value> value_;  // with the aliases
};

}  // namespace tfd::function
