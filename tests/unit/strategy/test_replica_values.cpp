// SPDX-License-Identifier: Apache-2.0
//
// One value of what replicas returned, as in the vector sets reduce, gather and gather_errors.
#include <doctest/doctest.h>

#include "tfd/strategy/replica_values.hpp"

namespace tfd::strategy {
namespace {

using tensor::DType;
using tensor::Tensor;

Tensor floats(tensor::Shape shape, std::vector<float> values) {
  Tensor out = Tensor::uninitialized(DType::kF32, std::move(shape));
  std::copy(values.begin(), values.end(), out.mutable_as<float>());
  return out;
}

std::vector<float> values_of(const Tensor& tensor) { return {tensor.as<float>().begin(), tensor.as<float>().end()}; }

TEST_CASE("replica values: reduce is the sum or the mean, element by element") {
  const std::vector<Tensor> values{floats({2}, {1, 2}), floats({2}, {3, 5})};
  CHECK(values_of(reduce_values(program::Reduce::kSum, values).value()) == std::vector<float>{4, 7});
  CHECK(values_of(reduce_values(program::Reduce::kMean, values).value()) == std::vector<float>{2, 3.5});
  CHECK_FALSE(reduce_values(program::Reduce::kSum, std::vector<Tensor>{floats({2}, {1, 2}), floats({1}, {3})}));
  const std::vector<Tensor> integers{Tensor::scalar(DType::kS64, std::int64_t{1}),
                                     Tensor::scalar(DType::kS64, std::int64_t{2})};
  CHECK(reduce_values(program::Reduce::kSum, integers).value().as<std::int64_t>()[0] == 3);
  CHECK_FALSE(reduce_values(program::Reduce::kMean, integers));
}

TEST_CASE("replica values: gather concatenates in the order of the replicas, which may differ in that axis") {
  const std::vector<Tensor> uneven{floats({1, 2}, {1, 2}), floats({2, 2}, {3, 4, 5, 6})};
  const Tensor rows = gather_values(0, uneven).value();
  CHECK(rows.shape() == tensor::Shape{3, 2});
  CHECK(values_of(rows) == std::vector<float>{1, 2, 3, 4, 5, 6});
  const std::vector<Tensor> columns{floats({2, 1}, {1, 4}), floats({2, 2}, {2, 3, 5, 6})};
  const Tensor wide = gather_values(1, columns).value();
  CHECK(wide.shape() == tensor::Shape{2, 3});
  CHECK(values_of(wide) == std::vector<float>{1, 2, 3, 4, 5, 6});
}

TEST_CASE("replica values: gather needs the axis, and one dtype and shape but for it") {
  const std::vector<Tensor> scalars{floats({}, {1}), floats({}, {2})};
  CHECK(gather_values(0, scalars).error().message.find("cannot gather along axis 0") == 0);
  const std::vector<Tensor> uneven{floats({1, 2}, {1, 2}), floats({2, 2}, {3, 4, 5, 6})};
  CHECK_FALSE(gather_values(1, uneven));
  CHECK_FALSE(gather_values(-1, uneven));
  CHECK_FALSE(gather_values(0, std::vector<Tensor>{floats({1}, {1}), floats({1, 1}, {1})}));
}

}  // namespace
}  // namespace tfd::strategy
