// SPDX-License-Identifier: Apache-2.0
#include "kit.hpp"
#include "tfd/tensor/npy.hpp"

using namespace tfd;
using namespace tfd::data;
using tensor::DType;
using tensor::Tensor;

namespace {

Tensor counting(DType dtype, tensor::Shape shape) {
  Tensor out = Tensor::uninitialized(dtype, std::move(shape));
  for (std::int64_t i = 0; i < out.size(); ++i) {
    if (dtype == DType::kF32)
      out.mutable_as<float>()[i] = static_cast<float>(i);
    else
      out.mutable_as<std::int64_t>()[i] = i;
  }
  return out;
}

struct Files {
  Files() {
    REQUIRE(tensor::save_npy(directory / "x.npy", counting(DType::kF32, {5, 2})));
    REQUIRE(tensor::save_npy(directory / "y.npy", counting(DType::kS64, {5})));
    REQUIRE(tensor::save_npy(directory / "short.npy", counting(DType::kS64, {4})));
    REQUIRE(tensor::save_npy(directory / "scalar.npy", counting(DType::kS64, {})));
  }
  TemporaryDirectory directory;
};

}  // namespace

TEST_CASE("npy: slices files along their first dimension") {
  const Files files;
  const auto one = dataset_of(R"([{"npy": {"path": "x.npy", "field": "x"}}])", files.directory.context());
  CHECK(one->cardinality() == 5);
  REQUIRE(one->spec().size() == 1);
  CHECK(one->spec()[0].name == "x");
  CHECK(one->spec()[0].shape == tensor::Shape{2});
  CHECK(drain(one).flat() == Numbers{0, 1, 2, 3, 4, 5, 6, 7, 8, 9});
  CHECK(drain(one).elements.size() == 5);
  const auto two = dataset_of(
      R"([{"npy": {"fields": {"y": {"path": "y.npy"}, "x": {"path": "x.npy", "dtype": "f32", "shape": [2]}}}}, {"batch": 2}])",
      files.directory.context());
  CHECK(two->spec()[0].name == "y");
  CHECK(two->spec()[0].dtype == DType::kS64);
  CHECK(two->spec()[1].shape == tensor::Shape{-1, 2});
  CHECK(two->cardinality() == 3);
  CHECK(drain(two).elements == std::vector<Numbers>{{0, 1}, {2, 3}, {4}});
}

TEST_CASE("npy: sees that a file has changed between passes") {
  const Files files;
  const auto dataset = dataset_of(R"([{"npy": {"path": "y.npy", "field": "y"}}])", files.directory.context());
  CHECK(drain(dataset).flat() == Numbers{0, 1, 2, 3, 4});
  REQUIRE(tensor::save_npy(files.directory / "y.npy", counting(DType::kS64, {2})));
  CHECK(drain(dataset).flat() == Numbers{0, 1});
  REQUIRE(tensor::save_npy(files.directory / "y.npy", counting(DType::kF32, {2})));
  const auto iterator = dataset->iterate();
  REQUIRE_FALSE(iterator);
  CHECK(iterator.error().message.ends_with("y.npy: its rows are f32[], but field 'y' is s64[]"));
}

TEST_CASE("npy: a file that isn't here is left to who reads it, once dtype and shape are stated") {
  const Files files;
  auto context = files.directory.context();
  std::vector<std::string> missing;
  context.missing_file = [&](const std::string& path, const std::string& file) {
    missing.push_back(path + ": " + file);
  };
  const std::string there = files.directory.path() + "/nope.npy";
  CHECK(error_of(R"([{"npy": {"path": "nope.npy", "field": "x"}}])", context).message ==
        "[0].npy: cannot find " + there + "; if only the workers have it, set its dtype and the shape of a row");
  CHECK(missing.empty());
  dataset_of(R"([{"npy": {"path": "nope.npy", "field": "x", "dtype": "f32", "shape": [2]}}])", context);
  CHECK(missing == std::vector<std::string>{"[0].npy.path: " + there});
  missing.clear();  // one that is here is looked at
  CHECK(dataset_of(R"([{"npy": {"path": "x.npy", "field": "x", "dtype": "f32", "shape": [2]}}])", context)
            ->cardinality() == 5);
  CHECK(missing.empty());
}

TEST_CASE("npy: needs dtype and shape stated where it can't look, and checks them when it reads") {
  const Files files;
  auto context = files.directory.context();
  context.look_at_files = false;
  CHECK(error_of(R"([{"npy": {"path": "x.npy", "field": "x"}}])", context).message ==
        "[0].npy: the file can't be read from here, so set its dtype and the shape of a row");
  const auto right = dataset_of(R"([{"npy": {"path": "x.npy", "field": "x", "dtype": "f32", "shape": [2]}}])", context);
  CHECK_FALSE(right->cardinality().has_value());
  CHECK(drain(right).elements.size() == 5);
  const auto wrong =
      dataset_of(R"([{"npy": {"path": "x.npy", "field": "x", "dtype": "f32", "shape": [3]}}])", context)->iterate();
  REQUIRE_FALSE(wrong);
  CHECK(wrong.error().code == Code::kInvalidArgument);
}

TEST_CASE("npy: names what is wrong") {
  const Files files;
  const auto context = files.directory.context();
  const Error missing = error_of(R"([{"npy": {"path": "nope.npy", "field": "x"}}])", context);
  CHECK(missing.code == Code::kNotFound);
  CHECK(missing.message.starts_with("[0].npy.path: "));
  CHECK(error_of(R"([{"npy": {"path": "x.npy"}}])", context).message == "[0].npy.field: is missing");
  CHECK(error_of(R"([{"npy": {"path": "scalar.npy", "field": "x"}}])", context)
            .message.ends_with("scalar.npy is a scalar: it has no rows"));
  CHECK(error_of(R"([{"npy": {"fields": {"x": {"path": "x.npy"}, "y": {"path": "short.npy"}}}}])", context).message ==
        "[0].npy.fields.y: 4 rows, but the fields before it have 5");
  CHECK(error_of(R"([{"npy": {"fields": {"x": {"path": "x.npy", "dtype": "f64"}}}}])", context)
            .message.ends_with("are f32[2], not f64[2]"));
  CHECK(error_of(R"([{"npy": {"fields": {}}}])", context).code == Code::kInvalidArgument);
  files.directory.write("bad.npy", "not an npy file");
  CHECK(error_of(R"([{"npy": {"path": "bad.npy", "field": "x"}}])", context).message.starts_with("[0].npy.path: "));
}
