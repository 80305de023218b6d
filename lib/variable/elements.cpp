// SPDX-License-Identifier: Apache-2.0
#include "elements.hpp"

#include <algorithm>

namespace tfd::variable {

using tensor::Tensor;

Tensor widened(const Tensor& value) {
  if (number_dtype(value.dtype()) == value.dtype()) return value;
  Tensor out = Tensor::uninitialized(number_dtype(value.dtype()), value.shape());
  with_elements(value.dtype(), [&]<class E>(E) {
    if constexpr (std::is_same_v<typename E::Number, float>) {
      const auto* from = value.as<typename E::Stored>().data();
      std::transform(from, from + value.size(), out.mutable_as<float>(), E::load);
    }
  });
  return out;
}

Tensor narrowed(const Tensor& value, tensor::DType dtype) {
  if (value.dtype() == dtype) return value;
  Tensor out = Tensor::uninitialized(dtype, value.shape());
  with_elements(dtype, [&]<class E>(E) {
    if constexpr (std::is_same_v<typename E::Number, float>) {
      const float* from = value.as<float>().data();
      std::transform(from, from + value.size(), out.mutable_as<typename E::Stored>(), E::store);
    }
  });
  return out;
}

void add_to(Tensor& value, const Tensor& change, bool subtracted) {
  if (subtracted)
    rewrite(
        value, []<class N>(N) { return [](N x, N y) { return subtract(x, y); }; }, change);
  else
    rewrite(
        value, []<class N>(N) { return [](N x, N y) { return add(x, y); }; }, change);
}

Tensor divided(const Tensor& value, std::int64_t count) {
  Tensor out = value;
  rewrite(out, [count]<class N>(N) { return [by = static_cast<N>(count)](N x) { return divide(x, by); }; });
  return out;
}

Tensor owned(const Tensor& value) {
  const bool whole = value.offset() == 0 && reinterpret_cast<std::uintptr_t>(value.data()) % tensor::kAlignment == 0;
  if (whole && value.storage()->writable() != nullptr) return value;
  return Tensor(value).unshared();  // with a second owner it copies
}

}  // namespace tfd::variable
