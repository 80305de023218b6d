// SPDX-License-Identifier: Apache-2.0
#include "elements.hpp"

#include <algorithm>

#include "slots.hpp"

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
  with_elements(value.dtype(), [&]<class E>(E) {
    using Stored = typename E::Stored;
    Rewrite<Stored> to(value);
    const Stored* by = change.as<Stored>().data();
    const std::int64_t count = value.size();
    if (subtracted) {
#pragma omp simd
      for (std::int64_t i = 0; i < count; ++i) to.out[i] = E::store(subtract(E::load(to.in[i]), E::load(by[i])));
    } else {
#pragma omp simd
      for (std::int64_t i = 0; i < count; ++i) to.out[i] = E::store(add(E::load(to.in[i]), E::load(by[i])));
    }
    to.commit();
  });
}

Tensor divided(const Tensor& value, std::int64_t count) {
  Tensor out = Tensor::uninitialized(value.dtype(), value.shape());
  with_elements(value.dtype(), [&]<class E>(E) {
    using Stored = typename E::Stored;
    const Stored* from = value.as<Stored>().data();
    Stored* to = out.mutable_as<Stored>();
    const auto by = static_cast<typename E::Number>(count);
    for (std::int64_t i = 0, size = value.size(); i < size; ++i) to[i] = E::store(divide(E::load(from[i]), by));
  });
  return out;
}

Tensor owned(const Tensor& value) {
  const bool whole = value.offset() == 0 && reinterpret_cast<std::uintptr_t>(value.data()) % tensor::kAlignment == 0;
  if (whole) return value;
  Tensor copy = value;  // a second owner, so that unshared() copies
  return copy.unshared();
}

void unshare(Tensor& tensor) {
  if (!tensor.is_sole_owner()) tensor = tensor.unshared();
}

}  // namespace tfd::variable
