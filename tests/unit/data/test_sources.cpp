// SPDX-License-Identifier: Apache-2.0
#include "kit.hpp"

using namespace tfd;
using namespace tfd::data;
using tensor::DType;

TEST_CASE("range: counts like Python's") {
  CHECK(values_of(R"([{"range": 4}])") == Numbers{0, 1, 2, 3});
  CHECK(values_of(R"([{"range": [2, 5]}])") == Numbers{2, 3, 4});
  CHECK(values_of(R"([{"range": [5, 0, -2]}])") == Numbers{5, 3, 1});
  CHECK(values_of(R"([{"range": [0, 5, 2]}])") == Numbers{0, 2, 4});
  CHECK(values_of(R"([{"range": [0, 4, 2]}])") == Numbers{0, 2});
  CHECK(values_of(R"([{"range": 0}])").empty());
  CHECK(values_of(R"([{"range": -3}])").empty());
  CHECK(values_of(R"([{"range": [5, 0]}])").empty());
  CHECK(values_of(R"([{"range": 10000}])").back() == 9999);
  const auto dataset = dataset_of(R"([{"range": [5, 0, -2]}])");
  CHECK(dataset->cardinality() == 3);
  CHECK(dataset->spec()[0].name == "value");
  CHECK(dataset->spec()[0].dtype == DType::kS64);
  CHECK(dataset->spec()[0].shape.empty());
}

TEST_CASE("range: holds at the ends of s64") {
  CHECK(values_of(R"([{"range": [9223372036854775805, 9223372036854775807, 5]}])").size() == 1);
  const auto whole = dataset_of(R"([{"range": [-9223372036854775808, 9223372036854775807]}])");
  CHECK(whole->cardinality() == INT64_MAX);
  CHECK(drain(whole, 1).flat() == Numbers{-9223372036854775808.0});
  CHECK(dataset_of(R"([{"range": [0, 5, -9223372036854775808]}])")->cardinality() == 0);
  CHECK(dataset_of(R"([{"range": [5, 0, -9223372036854775808]}])")->cardinality() == 1);
}

TEST_CASE("range: names what is wrong") {
  const std::string expected = "[0].range: must be STOP, [START, STOP] or [START, STOP, STEP], in whole numbers";
  for (const char* text :
       {R"([{"range": 1.5}])", R"([{"range": []}])", R"([{"range": [1, 2, 3, 4]}])", R"([{"range": "4"}])",
        R"([{"range": [1, "2"]}])", R"([{"range": {"stop": 3}}])", R"([{"range": 9223372036854775808}])"})
    CHECK(error_of(text).message == expected);
  CHECK(error_of(R"([{"range": [0, 4, 0]}])").message == "[0].range: the step must not be 0");
}

TEST_CASE("tensor_slices: slices a list, a typed tensor, or several fields") {
  CHECK(values_of(R"([{"tensor_slices": [1.5, 2, 3]}])") == Numbers{1.5, 2, 3});
  const auto bare = dataset_of(R"([{"tensor_slices": [[1, 2], [3, 4], [5, 6]]}])");
  CHECK(bare->spec()[0].name == "value");
  CHECK(bare->spec()[0].dtype == DType::kS32);
  CHECK(bare->spec()[0].shape == tensor::Shape{2});
  CHECK(bare->cardinality() == 3);
  CHECK(drain(bare).elements[1] == Numbers{3, 4});
  const auto fields = dataset_of(
      R"([{"tensor_slices": {"fields": {"y": {"dtype": "u8", "shape": [2], "data": [7, 8]}, "x": [[1.0], [2.0]]}}}])");
  REQUIRE(fields->spec().size() == 2);
  CHECK(fields->spec()[0].name == "y");
  CHECK(fields->spec()[0].dtype == DType::kU8);
  CHECK(drain(fields).flat() == Numbers{7, 8});
  CHECK(values_of(R"([{"tensor_slices": {"dtype": "f32", "shape": [0, 3], "data": []}}])").empty());
}

TEST_CASE("tensor_slices: names what is wrong") {
  CHECK(error_of(R"([{"tensor_slices": 3}])").message == "[0].tensor_slices: a scalar can't be sliced");
  CHECK(error_of(R"([{"tensor_slices": [[1], [2, 3]]}])").message.starts_with("[0].tensor_slices: "));
  CHECK(error_of(R"([{"tensor_slices": {"fields": {"x": [1, 2], "y": [1]}}}])").message ==
        "[0].tensor_slices.fields.y: 1 rows, but the fields before it have 2");
  CHECK(error_of(R"([{"tensor_slices": {"fields": {}}}])").code == Code::kInvalidArgument);
  CHECK(error_of(R"([{"tensor_slices": {"fields": {"x": [1]}, "filds": 3}}])").message ==
        "[0].tensor_slices.filds: unknown key, did you mean 'fields'?");
}
