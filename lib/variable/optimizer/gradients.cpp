// SPDX-License-Identifier: Apache-2.0
//
// Source: keras/src/optimizers/base_optimizer.py, 3.15: _clip_gradients, _clip_by_norm, clip_by_global_norm. Squares
// are summed in double.
#include "gradients.hpp"

#include <algorithm>
#include <cmath>
#include <concepts>
#include <cstring>
#include <span>

#include "../elements.hpp"
#include "formulas.hpp"
#include "tfd/variable/optimizer.hpp"

namespace tfd::variable {

using tensor::Tensor;

double square_sum(const Tensor& gradient) {
  const Tensor numbers = widened(gradient);
  const auto sum_of = [&]<class T>(const T* g) {
    const double sum = sum_elements(numbers.size(), [g](std::int64_t i) { return static_cast<double>(g[i] * g[i]); });
    return static_cast<double>(static_cast<T>(sum));
  };
  return numbers.dtype() == tensor::DType::kF32 ? sum_of(numbers.as<float>().data())
                                                : sum_of(numbers.as<double>().data());
}

Result<void> check_gradient(std::string_view name, const tensor::TensorSpec& value,
                            const tensor::TensorSpec& gradient) {
  if (!tensor::is_floating(value.dtype))
    return fail(Code::kInvalidArgument, "variable '{}' is {}: an optimizer updates floating-point numbers only", name,
                format_spec(value));
  if (gradient == value) return {};
  return fail(Code::kInvalidArgument, "the gradient of '{}' is {}, but the variable is {}", name, format_spec(gradient),
              format_spec(value));
}

void clip_by_value(Tensor& gradient, double limit) {
  rewrite(gradient, [=]<std::floating_point T>(T) {
    return [most = static_cast<T>(limit)](T g) { return formulas::clipped(g, most); };
  });
}

void clip_by_norm(Tensor& gradient, double norm, double square_sum) {
  rewrite(gradient, [=]<std::floating_point T>(T) {
    const T wanted = static_cast<T>(norm), above = formulas::norm_above(static_cast<T>(square_sum), wanted);
    return [=](T g) { return formulas::clipped_by_norm(g, wanted, above); };
  });
}

void clip_by_global_norm(Tensor& gradient, double norm, double square_sum) {
  rewrite(gradient, [=]<std::floating_point T>(T) {
    const T scale = formulas::global_clip_scale(static_cast<T>(square_sum), static_cast<T>(norm));
    return [=](T g) { return g * scale; };
  });
}

void move_loss_scale(VariableState& scale, bool is_finite, std::int64_t growth_steps) {
  if (growth_steps == 0 || (is_finite && ++scale.updates < growth_steps)) return;
  const float now = scale.value.as<float>()[0];
  scale.value = Tensor::scalar(tensor::DType::kF32, is_finite ? now * 2 : now / 2);
  scale.updates = 0;
}

void unscale(Tensor& gradient, double scale) {
  rewrite(gradient, [=]<std::floating_point T>(T) {
    return [by = static_cast<T>(scale)](T g) { return formulas::unscaled(g, by); };
  });
}

namespace {

constexpr std::size_t kAtOnce = 4096;  // elements between two looks at the result

/// True if no exponent, under this mask, has all bits set. Without a branch per element, so that compilers use vectors.
template <class Bits>
bool has_no_full_exponent(std::span<const std::byte> elements, Bits mask) {
  const std::size_t size = elements.size() / sizeof(Bits);
  for (std::size_t first = 0; first < size; first += kAtOnce) {
    unsigned found = 0;
    for (std::size_t i = first; i < std::min(size, first + kAtOnce); ++i) {
      Bits bits;
      std::memcpy(&bits, elements.data() + i * sizeof(Bits), sizeof(Bits));
      found |= (bits & mask) == mask ? 1U : 0U;
    }
    if (found != 0) return false;
  }
  return true;
}

}  // namespace

bool is_finite(tensor::DType dtype, std::span<const std::byte> elements) {
  switch (dtype) {
    case tensor::DType::kF32:
      return has_no_full_exponent<std::uint32_t>(elements, 0x7f800000);
    case tensor::DType::kF64:
      return has_no_full_exponent<std::uint64_t>(elements, 0x7ff0000000000000);
    case tensor::DType::kF16:
      return has_no_full_exponent<std::uint16_t>(elements, 0x7c00);
    case tensor::DType::kBF16:
      return has_no_full_exponent<std::uint16_t>(elements, 0x7f80);
    default:
      return true;
  }
}

bool is_finite(const Tensor& values) {
  return is_finite(values.dtype(), {values.data(), static_cast<std::size_t>(values.byte_size())});
}

}  // namespace tfd::variable
