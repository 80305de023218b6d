#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Strategies on devices that nothing is compiled for, and short ways to write tensors. Thread rule: a test's thread.
#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "tfd/strategy/strategy.hpp"
#include "tfd/tensor/json.hpp"

namespace tfd::strategy::test {

using Tensors = std::vector<tensor::Tensor>;

inline tensor::Tensor floats(const nlohmann::json& values) {
  tensor::Shape shape;
  for (const auto* level = &values; level->is_array() && !level->empty(); level = &level->front())
    shape.push_back(static_cast<std::int64_t>(level->size()));
  return tensor::tensor_from_json(values, {tensor::DType::kF32, shape}).value();
}
inline nlohmann::json shown(const tensor::Tensor& value) { return tensor::tensor_to_json(value); }
/// The value, or the error.
inline nlohmann::json shown(const Result<tensor::Tensor>& result) {
  return result ? shown(*result) : nlohmann::json(result.error().message);
}
inline nlohmann::json shown(const DistributedValue& value) {
  nlohmann::json out = nlohmann::json::array();
  for (const tensor::Tensor& one : value.components()) out.push_back(tensor::tensor_to_json(one));
  return out;
}
/// "" after success.
template <class T>
std::string error_of(const Result<T>& result) {
  return result ? "" : result.error().message;
}

inline std::unique_ptr<Strategy> make(const Kind& kind, int replicas) {
  auto made = Strategy::make({.kind = &kind, .devices = function::first_devices(replicas)});
  if (!made) FAIL(made.error().message);
  return std::move(*made);
}
inline DistributedValue per_replica(const nlohmann::json& values) {
  Tensors components;
  for (const auto& one : values) components.push_back(floats(one));
  return DistributedValue::per_replica(std::move(components));
}
inline float id_of(const ReplicaContext& replica) { return static_cast<float>(replica.replica_id_in_sync_group()); }

}  // namespace tfd::strategy::test
