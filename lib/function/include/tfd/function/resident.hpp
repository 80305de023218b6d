#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Tensors whose values are on devices. To whoever holds one it is a tensor like any other: its bytes come to the host
// when somebody reads them, and a function that takes it gets the buffer that is on its device.
// Thread rule: thread-safe.
//
//   const tensor::Tensor weights = resident(loaded);
//   for (const auto& batch : batches) TFD_TRY(function->call({weights, batch}));   // they go to the device once
#include <functional>
#include <memory>

#include "tfd/function/device.hpp"
#include "tfd/tensor/tensor.hpp"

namespace tfd::function {

/// A tensor of the host's value: each device that a function needs it on gets it once, and has it as long as the tensor
/// is there. One that is resident stays as it is.
tensor::Tensor resident(tensor::Tensor value);
/// A tensor of copies on different devices, which are there and are equal; at least one.
tensor::Tensor resident(DeviceBuffers copies);
/// The same value, on the same devices, as an object of its own.
tensor::Tensor alias_of(const tensor::Tensor& value);

/// What holds a resident tensor's value.
class ResidentStorage final : public tensor::Storage {
 public:
  struct Value;
  explicit ResidentStorage(std::shared_ptr<Value> value) : value_(std::move(value)) {}
  /// That of a tensor which is the whole of a resident one; or null.
  static const ResidentStorage* find(const tensor::Tensor& value);

  /// The host's copy, which is there from then on. A device that can't be read any more ends the process.
  const std::byte* data() const override;

  /// The copy that `is_wanted`; where there is none yet, the one that `make` makes of the host's value, which is kept.
  /// Errors of `make`.
  Result<DeviceBufferPtr> find_or_make(
      const std::function<bool(const DeviceBuffer&)>& is_wanted,
      const std::function<Result<DeviceBufferPtr>(const tensor::Tensor& host)>& make) const;

 private:
  friend tensor::Tensor alias_of(const tensor::Tensor& value);
  std::shared_ptr<Value> value_;  // with the aliases
};

}  // namespace tfd::function
