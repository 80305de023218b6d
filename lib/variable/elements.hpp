#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Arithmetic on tensors of any dtype, as variables need it: integers wrap round, half types go through float. Bool has
// none. Thread rule: free functions on their arguments.
#include <cstdint>
#include <type_traits>
#include <utility>

#include "tfd/tensor/native.hpp"
#include "tfd/tensor/tensor.hpp"
#include "tfd/variable/device_update.hpp"

namespace tfd::variable {

/// How an element is stored, and the type to calculate with.
template <class S>
struct Native {
  using Stored = S;
  using Number = S;
  static S load(S x) { return x; }
  static S store(S x) { return x; }
};
template <float (*Widen)(std::uint16_t), std::uint16_t (*Narrow)(float)>
struct Half {
  using Stored = std::uint16_t;
  using Number = float;
  static float load(std::uint16_t x) { return Widen(x); }
  static std::uint16_t store(float x) { return Narrow(x); }
};

/// f(Native<float>()) and so on; nothing for bool.
template <class F>
void with_elements(tensor::DType dtype, F&& f) {
  tensor::with_native(dtype, [&](auto type) {
    using T = decltype(type);
    if constexpr (std::is_same_v<T, tensor::Half>)
      f(Half<tensor::half_to_float, tensor::float_to_half>());
    else if constexpr (std::is_same_v<T, tensor::BFloat16>)
      f(Half<tensor::bfloat16_to_float, tensor::float_to_bfloat16>());
    else if constexpr (!std::is_same_v<T, bool>)
      f(Native<T>());
  });
}

// Signed overflow is undefined, and so are narrow products promoted to int: calculated modulo 2^64.
template <class N>
N add(N a, N b) {
  if constexpr (std::is_integral_v<N>)
    return static_cast<N>(static_cast<std::uint64_t>(a) + static_cast<std::uint64_t>(b));
  else
    return a + b;
}
template <class N>
N subtract(N a, N b) {
  if constexpr (std::is_integral_v<N>)
    return static_cast<N>(static_cast<std::uint64_t>(a) - static_cast<std::uint64_t>(b));
  else
    return a - b;
}
template <class N>
N multiply(N a, N b) {
  if constexpr (std::is_integral_v<N>)
    return static_cast<N>(static_cast<std::uint64_t>(a) * static_cast<std::uint64_t>(b));
  else
    return a * b;
}
/// Integers toward zero; the caller has checked that `b` isn't 0 then.
template <class N>
N divide(N a, N b) {
  if constexpr (std::is_integral_v<N> && std::is_signed_v<N>)
    return b == -1 ? subtract(N(0), a) : static_cast<N>(a / b);  // the least number over -1 wraps round
  else
    return static_cast<N>(a / b);
}

/// f16 and bf16 as f32; shared where it is that already.
tensor::Tensor widened(const tensor::Tensor& value);
/// f32 as f16 or bf16, rounded to nearest, ties to even; shared where it has that dtype already.
tensor::Tensor narrowed(const tensor::Tensor& value, tensor::DType dtype);

/// The loop that all functions of elements run in: f(i) for each i. Everything is inlined into it, so that it works on
/// vectors.
template <class F>
[[gnu::flatten]] void for_elements(std::int64_t count, F f) {
#pragma omp simd
  for (std::int64_t i = 0; i < count; ++i) f(i);
}
/// The sum of f(i), in any order.
template <class F>
[[gnu::flatten]] double sum_elements(std::int64_t count, F f) {
  double sum = 0;
#pragma omp simd reduction(+ : sum)
  for (std::int64_t i = 0; i < count; ++i) sum += f(i);
  return sum;
}

/// An array that is read and written: `in` and `out` are the same one, or don't overlap at all.
template <class T>
struct Lane {
  const T* in = nullptr;
  T* out = nullptr;
};
/// One tensor that a loop over elements reads and writes: in place for the sole owner, else into a fresh buffer that
/// becomes the tensor's.
template <class T>
class Rewrite {
 public:
  explicit Rewrite(tensor::Tensor& tensor)
      : target_(&tensor),
        fresh_(tensor.is_sole_owner() ? tensor::Tensor()
                                      : tensor::Tensor::uninitialized(tensor.dtype(), tensor.shape())),
        lane_{reinterpret_cast<const T*>(tensor.data()),
              fresh_.has_value() ? fresh_.mutable_as<T>() : tensor.mutable_as<T>()} {}
  /// The elements from `first` on.
  Lane<T> at(std::int64_t first) const { return {lane_.in + first, lane_.out + first}; }
  /// Makes the written elements the tensor; called after the loop.
  void commit() {
    if (fresh_.has_value()) *target_ = std::move(fresh_);
  }

 private:
  tensor::Tensor* target_;
  tensor::Tensor fresh_;
  Lane<T> lane_;
};

/// Each element of the tensor becomes f(it, those of the others, which have its spec), calculated as numbers: make(N())
/// computes what is the same for all of them and returns f. Nothing for bool, nor for numbers that `make` doesn't take.
template <class Make, class... Others>
void rewrite(tensor::Tensor& tensor, Make make, const Others&... others) {
  with_elements(tensor.dtype(), [&]<class E>(E) {
    using Stored = typename E::Stored;
    if constexpr (std::is_invocable_v<Make, typename E::Number>) {
      Rewrite<Stored> tensors(tensor);
      const auto run = [f = make(typename E::Number()), to = tensors.at(0), size = tensor.size()](auto... from) {
        for_elements(size, [=](std::int64_t i) { to.out[i] = E::store(f(E::load(to.in[i]), E::load(from[i])...)); });
      };
      run(others.template as<Stored>().data()...);
      tensors.commit();
    }
  });
}

/// value += change, or value -= change. Same spec.
void add_to(tensor::Tensor& value, const tensor::Tensor& change, bool subtracted);
/// value / count, integers toward zero.
tensor::Tensor divided(const tensor::Tensor& value, std::int64_t count);

/// A tensor to keep: a part of a larger buffer (a message, rows of a table) is copied out, so that it doesn't keep the
/// rest.
tensor::Tensor owned(const tensor::Tensor& value);

}  // namespace tfd::variable
