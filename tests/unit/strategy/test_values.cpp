// SPDX-License-Identifier: Apache-2.0
//
// Results of the replicas' values, beyond the vector sets reduce, gather, gather_errors and local_results.
#include <doctest/doctest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "tfd/strategy/values.hpp"
#include "tfd/tensor/json.hpp"

namespace tfd::strategy {
namespace {

using program::Reduce;
using tensor::DType;
using tensor::Tensor;

Tensor tensor_of(DType dtype, tensor::Shape shape, const nlohmann::json& values) {
  return tensor::tensor_from_json(values, {dtype, std::move(shape)}).value();
}
Tensor floats(tensor::Shape shape, const nlohmann::json& values) {
  return tensor_of(DType::kF32, std::move(shape), values);
}
nlohmann::json shown(const Result<Tensor>& result) {
  return result ? tensor::tensor_to_json(*result) : nlohmann::json(result.error().message);
}

TEST_CASE("values: an integer mean is a fraction, of small integers in f32, of others in f64") {
  for (const auto& [from, to] : std::vector<std::pair<DType, DType>>{{DType::kU8, DType::kF32},
                                                                     {DType::kS16, DType::kF32},
                                                                     {DType::kS32, DType::kF64},
                                                                     {DType::kU64, DType::kF64}}) {
    const DistributedValue value =
        DistributedValue::per_replica({tensor_of(from, {2}, {1, 2}), tensor_of(from, {2}, {2, 5})});
    const auto mean = reduce(Reduce::kMean, value, std::nullopt, 2);
    CHECK(mean.value().dtype() == to);
    CHECK(shown(mean) == nlohmann::json{1.5, 3.5});
    CHECK(reduce(Reduce::kSum, value, std::nullopt, 2).value().dtype() == from);
  }
  // The sum of bytes wraps round before it is divided.
  const DistributedValue bytes =
      DistributedValue::per_replica({tensor_of(DType::kU8, {}, 200), tensor_of(DType::kU8, {}, 100)});
  CHECK(shown(reduce(Reduce::kMean, bytes, std::nullopt, 2)) == 22);
}

TEST_CASE("values: with axes replicas weigh as much as they have elements") {
  const DistributedValue uneven =
      DistributedValue::per_replica({floats({2, 2}, {{1, 2}, {3, 4}}), floats({1, 2}, {{5, 6}})});
  CHECK(shown(reduce(Reduce::kSum, uneven, {{0}}, 2)) == nlohmann::json{9, 12});
  CHECK(shown(reduce(Reduce::kMean, uneven, {{0}}, 2)) == nlohmann::json{3, 4});
  CHECK(shown(reduce(Reduce::kMean, uneven, {{0, -1}}, 2)) == 3.5);
  CHECK(shown(reduce(Reduce::kSum, uneven, {{}}, 2)).get<std::string>().find("differ") != std::string::npos);
  const DistributedValue none =
      DistributedValue::per_replica({floats({0}, nlohmann::json::array()), floats({0}, nlohmann::json::array())});
  CHECK(std::isnan(reduce(Reduce::kMean, none, {{0}}, 2).value().as<float>()[0]));
  const DistributedValue halves =
      DistributedValue::per_replica({tensor_of(DType::kBF16, {3}, {1, 2, 3}), tensor_of(DType::kBF16, {1}, {4})});
  CHECK(shown(reduce(Reduce::kMean, halves, {{0}}, 2)) == 2.5);
  for (const auto& axes : std::vector<std::vector<std::int64_t>>{{2}, {-3}, {0, 0}, {1, -1}})
    CHECK_FALSE(reduce(Reduce::kMean, uneven, axes, 2));
}

TEST_CASE("values: what is the same for all is its own mean, and has no sum but of one replica") {
  const DistributedValue plain(floats({2}, {1, 2}));
  CHECK(shown(reduce(Reduce::kMean, plain, std::nullopt, 2)) == nlohmann::json{1, 2});
  CHECK(shown(reduce(Reduce::kSum, plain, std::nullopt, 1)) == nlohmann::json{1, 2});
  CHECK_FALSE(reduce(Reduce::kSum, plain, std::nullopt, 2));
  CHECK(shown(reduce(Reduce::kSum, plain, {{0}}, 2)) == 6);  // every replica has it
  const DistributedValue copies = DistributedValue::mirrored({floats({}, 3), floats({}, 3)});
  CHECK(shown(reduce(Reduce::kMean, copies, std::nullopt, 2)) == 3);
  CHECK_FALSE(reduce(Reduce::kSum, copies, std::nullopt, 2));
  CHECK_FALSE(
      reduce(Reduce::kSum, DistributedValue::per_replica({tensor_of(DType::kBool, {}, true)}), std::nullopt, 1));
  CHECK(parse_reduce("MEAN").value() == Reduce::kMean);
  CHECK_FALSE(parse_reduce("max"));
}

TEST_CASE("values: gather concatenates in the order of the replicas, which may differ in that axis alone") {
  const DistributedValue columns =
      DistributedValue::per_replica({floats({2, 1}, {{1}, {4}}), floats({2, 2}, {{2, 3}, {5, 6}})});
  CHECK(shown(gather(columns, 1)) == nlohmann::json{{1, 2, 3}, {4, 5, 6}});
  CHECK_FALSE(gather(columns, 0));
  CHECK_FALSE(gather(columns, -1));
  CHECK_FALSE(gather(DistributedValue::per_replica({floats({1}, {1}), floats({1, 1}, {{1}})}), 0));
  CHECK(shown(gather(DistributedValue::per_replica({floats({}, 1), floats({}, 2)}), 0)) ==
        "cannot gather along axis 0: the replicas returned f32[], not of rank 1 or more");
}

}  // namespace
}  // namespace tfd::strategy
