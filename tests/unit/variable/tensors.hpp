#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Small tensors, optimizers and comparisons for the tests of this room.
#include <doctest/doctest.h>

#include <cstring>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tfd/variable/optimizer.hpp"

namespace tfd::variable::test {

template <class T>
tensor::Tensor tensor_of(tensor::DType dtype, const std::vector<T>& values, tensor::Shape shape) {
  tensor::Tensor out = tensor::Tensor::uninitialized(dtype, std::move(shape));
  REQUIRE(out.byte_size() == values.size() * sizeof(T));
  if (!values.empty()) std::memcpy(out.mutable_data(), values.data(), out.byte_size());
  return out;
}
template <class T>
tensor::Tensor vector_of(tensor::DType dtype, const std::vector<T>& values) {
  return tensor_of(dtype, values, {static_cast<std::int64_t>(values.size())});
}
inline tensor::Tensor floats(const std::vector<float>& values, tensor::Shape shape) {
  return tensor_of(tensor::DType::kF32, values, std::move(shape));
}
inline tensor::Tensor floats(const std::vector<float>& values) { return vector_of(tensor::DType::kF32, values); }
inline tensor::Tensor ids(const std::vector<std::int64_t>& values) { return vector_of(tensor::DType::kS64, values); }
template <class T>
std::vector<T> values_of(const tensor::Tensor& t) {
  return {t.as<T>().begin(), t.as<T>().end()};
}
inline std::vector<float> values_of(const tensor::Tensor& t) { return values_of<float>(t); }

inline std::shared_ptr<const Optimizer> optimizer_of(const std::string& text) {
  auto made = make_optimizer(nlohmann::ordered_json::parse(text));
  REQUIRE_MESSAGE(made.has_value(), (made ? std::string() : made.error().message));
  return *made;
}

}  // namespace tfd::variable::test
