// SPDX-License-Identifier: Apache-2.0
#include "values.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "tfd/tensor/native.hpp"

namespace tfd::checkpoint_tool {
namespace {

using tensor::Tensor;

/// Calls `use(i, number)` for each element, as f64.
template <class Use>
void for_numbers(const Tensor& value, Use&& use) {
  tensor::with_native(value.dtype(), [&](auto type) {
    using T = tensor::StoredNumber<decltype(type)>;
    const auto elements = value.as<T>();
    for (std::size_t i = 0; i < elements.size(); ++i) use(i, static_cast<double>(tensor::widen(elements[i])));
  });
}

}  // namespace

Summary summarize(const Tensor& value) {
  Summary out;
  double sum = 0;
  std::int64_t count = 0;
  for_numbers(value, [&](std::size_t, double number) {
    if (!std::isfinite(number)) {
      ++out.not_finite;
      return;
    }
    out.min = std::min(out.min.value_or(number), number);
    out.max = std::max(out.max.value_or(number), number);
    sum += number;
    ++count;
  });
  if (count > 0) out.mean = sum / static_cast<double>(count);
  return out;
}

Difference compare(const Tensor& a, const Tensor& b, double tolerance) {
  Difference out;
  if (std::ranges::equal(a.bytes(), b.bytes())) return out;
  std::vector<double> others;
  others.reserve(static_cast<std::size_t>(b.size()));
  for_numbers(b, [&](std::size_t, double number) { others.push_back(number); });
  for_numbers(a, [&](std::size_t i, double number) {
    const double other = others[i];
    if (number == other || (std::isnan(number) && std::isnan(other))) return;
    const double gap = std::isfinite(number) && std::isfinite(other) ? std::abs(number - other)
                                                                     : std::numeric_limits<double>::infinity();
    if (gap <= tolerance) return;
    ++out.count;
    out.most = std::max(out.most, gap);
  });
  return out;
}

void Average::add(const Tensor& value) {
  last_ = value;
  ++count_;
  if (!tensor::is_floating(value.dtype())) return;
  sums_.resize(static_cast<std::size_t>(value.size()));
  for_numbers(value, [&](std::size_t i, double number) { sums_[i] += number; });
}

Tensor Average::mean() const {
  if (!tensor::is_floating(last_.dtype())) return last_;
  Tensor out = Tensor::uninitialized(last_.dtype(), last_.shape());
  const auto count = static_cast<double>(count_);
  const auto fill = [&]<class T>(auto rounded) {
    T* const to = out.mutable_as<T>();
    for (std::size_t i = 0; i < sums_.size(); ++i) to[i] = rounded(sums_[i] / count);
  };
  switch (last_.dtype()) {
    case tensor::DType::kF16:
      fill.template operator()<std::uint16_t>([](double x) { return tensor::float_to_half(static_cast<float>(x)); });
      break;
    case tensor::DType::kBF16:
      fill.template operator()<std::uint16_t>(
          [](double x) { return tensor::float_to_bfloat16(static_cast<float>(x)); });
      break;
    case tensor::DType::kF32:
      fill.template operator()<float>([](double x) { return static_cast<float>(x); });
      break;
    default:
      fill.template operator()<double>([](double x) { return x; });
  }
  return out;
}

}  // namespace tfd::checkpoint_tool
