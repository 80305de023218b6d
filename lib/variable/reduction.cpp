// SPDX-License-Identifier: Apache-2.0
#include "tfd/variable/reduction.hpp"

#include <algorithm>
#include <type_traits>

#include "elements.hpp"

namespace tfd::variable {
namespace {

using tensor::DType;
using tensor::Shape;
using tensor::Tensor;

Result<void> check_number(DType dtype) {
  if (dtype == DType::kBool) return fail(Code::kInvalidArgument, "there is no sum of bool");
  return {};
}

/// How far apart in the result two elements are that follow each other along an axis of the value; 0 where the axis is
/// summed over.
std::vector<std::int64_t> result_strides(const Shape& shape, const std::vector<std::size_t>& summed) {
  std::vector<std::int64_t> strides(shape.size(), 0);
  std::int64_t next = 1;
  for (std::size_t axis = shape.size(); axis-- > 0;) {
    if (std::ranges::binary_search(summed, axis)) continue;
    strides[axis] = next;
    next *= shape[axis];
  }
  return strides;
}

/// f(from, to) for every element, row-major: where it is, and where its sum is.
template <class F>
void for_each_pair(const Shape& shape, const std::vector<std::int64_t>& strides, F f) {
  const std::int64_t size = tensor::element_count(shape);
  Shape at(shape.size(), 0);
  std::int64_t to = 0;
  for (std::int64_t from = 0; from < size; ++from) {
    f(from, to);
    for (std::size_t axis = shape.size(); axis-- > 0;) {
      to += strides[axis];
      if (++at[axis] < shape[axis]) break;
      to -= strides[axis] * shape[axis];
      at[axis] = 0;
    }
  }
}

}  // namespace

Result<std::vector<std::size_t>> positions_of(std::span<const std::int64_t> axes, const Shape& shape) {
  const auto rank = static_cast<std::int64_t>(shape.size());
  std::vector<std::size_t> out;
  for (const std::int64_t axis : axes) {
    if (axis < -rank || axis >= rank)
      return fail(Code::kInvalidArgument, "there is no axis {} of {}, which has rank {}", axis,
                  tensor::format_shape(shape), rank);
    out.push_back(static_cast<std::size_t>(axis < 0 ? axis + rank : axis));
  }
  std::ranges::sort(out);
  if (const auto twice = std::ranges::adjacent_find(out); twice != out.end())
    return fail(Code::kInvalidArgument, "the axis {} is there twice", *twice);
  return out;
}

Result<Tensor> sum_over(const Tensor& value, std::span<const std::int64_t> axes) {
  TFD_TRY(check_number(value.dtype()));
  const auto summed = TFD_TRY(positions_of(axes, value.shape()));
  if (summed.empty()) return value;
  Shape shape;
  for (std::size_t axis = 0; axis < value.shape().size(); ++axis)
    if (!std::ranges::binary_search(summed, axis)) shape.push_back(value.shape()[axis]);
  Tensor out = Tensor::uninitialized(value.dtype(), shape);
  with_elements(value.dtype(), [&]<class E>(E) {
    using Stored = typename E::Stored;
    using Sum = std::conditional_t<std::is_integral_v<typename E::Number>, std::uint64_t, double>;
    std::vector<Sum> sums(static_cast<std::size_t>(out.size()), Sum(0));
    const Stored* const from = value.as<Stored>().data();
    for_each_pair(value.shape(), result_strides(value.shape(), summed), [&](std::int64_t at, std::int64_t to) {
      sums[static_cast<std::size_t>(to)] += static_cast<Sum>(E::load(from[at]));
    });
    Stored* const result = out.mutable_as<Stored>();
    for (std::size_t i = 0; i < sums.size(); ++i) result[i] = E::store(static_cast<typename E::Number>(sums[i]));
  });
  return out;
}

Result<Tensor> quotient(const Tensor& value, std::int64_t count) {
  TFD_TRY(check_number(value.dtype()));
  const bool is_small = tensor::dtype_size(value.dtype()) <= 2;
  const DType dtype = tensor::is_floating(value.dtype()) ? value.dtype() : is_small ? DType::kF32 : DType::kF64;
  Tensor out = Tensor::uninitialized(dtype, value.shape());
  with_elements(value.dtype(), [&]<class E>(E) {
    const auto from = value.as<typename E::Stored>();
    with_elements(dtype, [&]<class To>(To) {
      using Number = typename To::Number;
      if constexpr (std::is_floating_point_v<Number>) {
        auto* const to = out.mutable_as<typename To::Stored>();
        for (std::size_t i = 0; i < from.size(); ++i)
          to[i] = To::store(static_cast<Number>(E::load(from[i])) / static_cast<Number>(count));
      }
    });
  });
  return out;
}

}  // namespace tfd::variable
