// SPDX-License-Identifier: Apache-2.0
//
// The rules for float32 are in the golden set `variables`; here are the other dtypes, shapes and refused operations.
#include <tuple>

#include "tensors.hpp"
#include "tfd/variable/replicated.hpp"

using namespace tfd;
using namespace tfd::variable;
using namespace tfd::variable::test;
using tensor::DType;
using tensor::Tensor;

namespace {

ReplicationKind kind_of(DType dtype, Synchronization synchronization, Aggregation aggregation) {
  return resolve_kind(dtype, synchronization, aggregation, std::nullopt).value();
}

}  // namespace

TEST_CASE("replicated: kinds have their defaults, and say what can't be") {
  CHECK(kind_of(DType::kF32, Synchronization::kAuto, Aggregation::kNone).synchronization == Synchronization::kOnWrite);
  CHECK(kind_of(DType::kF32, Synchronization::kAuto, Aggregation::kNone).trainable);
  CHECK_FALSE(kind_of(DType::kF32, Synchronization::kOnRead, Aggregation::kSum).trainable);
  CHECK(resolve_kind(DType::kF32, Synchronization::kOnRead, Aggregation::kSum, true)->trainable);
  CHECK(resolve_kind(DType::kS32, Synchronization::kAuto, Aggregation::kMean, {}).error().message ==
        "aggregation 'mean' needs a floating-point dtype, not s32: use 'sum' or 'only_first_replica'");
  CHECK_FALSE(resolve_kind(DType::kF32, Synchronization::kNone, Aggregation::kSum, {}));
  CHECK(default_aggregation(DType::kBF16) == Aggregation::kMean);
  CHECK(default_aggregation(DType::kS64) == Aggregation::kOnlyFirstReplica);
  CHECK(parse_aggregation("ONLY_FIRST_REPLICA").value() == Aggregation::kOnlyFirstReplica);
  CHECK(parse_aggregation("meen").error().message == "no aggregation 'meen', did you mean 'mean'?");
  CHECK(parse_synchronization("on_write").value() == Synchronization::kOnWrite);
  CHECK(name_of(Synchronization::kOnRead) == "on_read");
}

TEST_CASE("replicated: integers assigned across a sum are divided towards zero") {
  ReplicatedVariable v(kind_of(DType::kS32, Synchronization::kOnRead, Aggregation::kSum),
                       std::vector<Tensor>(3, Tensor::scalar<std::int32_t>(DType::kS32, 0)));
  REQUIRE(v.write_across(WriteOp::kAssign, Tensor::scalar<std::int32_t>(DType::kS32, 10)));
  for (const Tensor& copy : v.copies()) CHECK(copy.as<std::int32_t>()[0] == 3);
  CHECK(v.read_across()->as<std::int32_t>()[0] == 9);
  REQUIRE(v.write_across(WriteOp::kAssign, Tensor::scalar<std::int32_t>(DType::kS32, -10)));
  CHECK(v.read(2).as<std::int32_t>()[0] == -3);
  CHECK_FALSE(v.write_across(WriteOp::kAdd, Tensor::scalar<std::int32_t>(DType::kS32, 1)));
}

TEST_CASE("replicated: vectors and half types are aggregated element by element") {
  ReplicatedVariable v(kind_of(DType::kF32, Synchronization::kAuto, Aggregation::kMean),
                       std::vector<Tensor>(3, floats({1, 2})));
  REQUIRE(v.write(WriteOp::kSubtract, std::vector<Tensor>{floats({3, 0}), floats({0, 3}), floats({3, 3})}));
  for (const Tensor& copy : v.copies()) CHECK(values_of(copy) == std::vector<float>{-1, 0});
  const auto bf16 = [](float x) { return Tensor::scalar(DType::kBF16, tensor::float_to_bfloat16(x)); };
  const std::vector<Tensor> three{bf16(256), bf16(1), bf16(1)};
  const auto number = [](const Result<Tensor>& x) { return tensor::bfloat16_to_float(x->as<std::uint16_t>()[0]); };
  CHECK(number(aggregate(Aggregation::kSum, three)) == 256);  // 257 is 256 in bf16, as TensorFlow's AddN has it
  const auto mean = aggregate(Aggregation::kMean, std::vector<Tensor>{bf16(1), bf16(2)});
  REQUIRE(mean);
  CHECK(tensor::bfloat16_to_float(mean->as<std::uint16_t>()[0]) == 1.5F);
}

TEST_CASE("replicated: a mean is the sum in replica order, divided once") {
  // The mean of three is neither the sum of thirds nor the sum times a third.
  const auto mean = [](float a, float b, float c) {
    return values_of(*aggregate(Aggregation::kMean, std::vector<Tensor>{floats({a}), floats({b}), floats({c})}))[0];
  };
  for (const auto& [a, b, c] : {std::tuple{0.1F, 0.7F, 1.3F}, std::tuple{-6.0F, 10.5F, -1.0F},
                                std::tuple{1e8F, 1.0F, -1e8F}, std::tuple{0.1F, 0.1F, 0.1F}}) {
    const volatile float first = a + b;
    const volatile float sum = first + c;
    CHECK(mean(a, b, c) == sum / 3.0F);
  }
  CHECK(mean(-6.0F, 10.5F, -1.0F) == 1.1666666269302368F);  // TensorFlow's
  const auto f16 = [](float x) { return Tensor::scalar(DType::kF16, tensor::float_to_half(x)); };
  const auto half = aggregate(Aggregation::kMean, std::vector<Tensor>{f16(2048), f16(1), f16(1)});
  CHECK(tensor::half_to_float(half->as<std::uint16_t>()[0]) ==
        tensor::half_to_float(tensor::float_to_half(2048.0F / 3)));
}

TEST_CASE("replicated: a value given to it, or read before, doesn't change with a write") {
  const Tensor given = floats({5});
  ReplicatedVariable v(kind_of(DType::kF32, Synchronization::kAuto, Aggregation::kNone), {given, given});
  REQUIRE(v.write(WriteOp::kAdd, std::vector<Tensor>{floats({1}), floats({2})}));
  CHECK(given.as<float>()[0] == 5);
  CHECK(v.read(0).as<float>()[0] == 6);
  CHECK(v.read(1).as<float>()[0] == 7);
}

TEST_CASE("replicated: refuses values that don't fit, and changes nothing then") {
  ReplicatedVariable v(kind_of(DType::kF32, Synchronization::kAuto, Aggregation::kSum), {floats({1}), floats({1})});
  CHECK_FALSE(v.write(WriteOp::kAssign, std::vector<Tensor>{floats({1})}));
  CHECK_FALSE(v.write(WriteOp::kAssign, std::vector<Tensor>{floats({1}), floats({1, 2})}));
  CHECK_FALSE(v.write_across(WriteOp::kAssign, ids({1})));
  CHECK(v.write_same(WriteOp::kAdd, floats({4})).error().message ==
        "[4.0] is the same on every replica: it can't be reduced by 'sum'");
  CHECK(values_of(v.read(1)) == std::vector<float>{1});
  CHECK_FALSE(aggregate(Aggregation::kSum, {}));
  CHECK_FALSE(aggregate(Aggregation::kNone, std::vector<Tensor>{floats({1}), floats({2})}));
  CHECK_FALSE(aggregate(Aggregation::kMean, std::vector<Tensor>{ids({1}), ids({2})}));
}
