// SPDX-License-Identifier: Apache-2.0
#include "tfd/function/resident.hpp"

#include <cstdio>
#include <cstdlib>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "tfd/base/exit_code.hpp"
#include "tfd/base/thread_annotations.hpp"

namespace tfd::function {

using tensor::Tensor;

struct ResidentStorage::Value {
  explicit Value(Tensor value) : spec(value.spec()), host(std::move(value)) {}
  explicit Value(DeviceBuffers made) : spec(made.front()->spec()), copies(std::move(made)) {}

  const tensor::TensorSpec spec;
  Mutex mutex;
  std::optional<Tensor> host TFD_GUARDED_BY(mutex);  // absent: read from a copy when needed
  bool host_is_seen TFD_GUARDED_BY(mutex) = false;   // its pointer was returned, so it is kept
  DeviceBuffers copies TFD_GUARDED_BY(mutex);        // the first is whole if the host has none
};

namespace {

/// Reads a copy, which was transferred or computed without an error.
Tensor read(const DeviceBuffer& copy) {
  auto value = copy.to_host();
  if (value) return std::move(*value);
  std::fputs(fmt::format("tfd: a device can no longer be read: {}\n", value.error().message).c_str(), stderr);
  std::_Exit(number_of(ExitCode::kBug));
}

Tensor tensor_of(std::shared_ptr<ResidentStorage::Value> value) {
  const tensor::TensorSpec spec = value->spec;
  return {spec.dtype, spec.shape, std::make_shared<ResidentStorage>(std::move(value))};
}

}  // namespace

Tensor resident(Tensor value) {
  if (!value.has_value() || ResidentStorage::find(value) != nullptr) return value;
  return tensor_of(std::make_shared<ResidentStorage::Value>(std::move(value)));
}

Tensor resident(DeviceBuffers copies) { return tensor_of(std::make_shared<ResidentStorage::Value>(std::move(copies))); }

Tensor alias_of(const Tensor& value) {
  const ResidentStorage* const storage = ResidentStorage::find(value);
  return storage == nullptr ? resident(value) : tensor_of(storage->value_);
}

const ResidentStorage* ResidentStorage::find(const Tensor& value) {
  const auto* const storage = dynamic_cast<const ResidentStorage*>(value.storage().get());
  return storage != nullptr && value.offset() == 0 && value.spec() == storage->value_->spec ? storage : nullptr;
}

const std::byte* ResidentStorage::data() const {
  const MutexLock lock(value_->mutex);
  if (!value_->host) value_->host = read(*value_->copies.front());
  value_->host_is_seen = true;
  return value_->host->data();
}

// The host's copy is dropped if a device has the whole value; a piece doesn't suffice.
Result<DeviceBufferPtr> ResidentStorage::find_or_make(
    const std::function<bool(const DeviceBuffer&)>& is_wanted,
    const std::function<Result<DeviceBufferPtr>(const Tensor& host)>& make) const {
  const MutexLock lock(value_->mutex);
  for (const DeviceBufferPtr& one : value_->copies)
    if (is_wanted(*one)) return one;
  const Tensor host = value_->host ? *value_->host : read(*value_->copies.front());
  auto made = TFD_TRY(make(host));
  value_->copies.push_back(made);
  const bool is_kept = value_->copies.front()->spec() == value_->spec;
  if (is_kept && !value_->host_is_seen) value_->host.reset();
  return made;
}

}  // namespace tfd::function
