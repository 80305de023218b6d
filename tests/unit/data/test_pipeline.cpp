// SPDX-License-Identifier: Apache-2.0
#include "kit.hpp"

using namespace tfd;
using namespace tfd::data;
using tensor::DType;
using tensor::Tensor;

TEST_CASE("pipeline: repeat, take and skip") {
  CHECK(values_of(R"([{"range": 3}, {"repeat": 2}])") == Numbers{0, 1, 2, 0, 1, 2});
  CHECK(values_of(R"([{"range": 3}, {"repeat": {"count": 0}}])").empty());
  CHECK(values_of(R"([{"range": 2}, {"repeat": {}}])", {}, 5) == Numbers{0, 1, 0, 1, 0});
  CHECK(values_of(R"([{"range": 2}, {"repeat": -1}, {"take": 5}])") == Numbers{0, 1, 0, 1, 0});
  CHECK(values_of(R"([{"range": 0}, {"repeat": {}}])").empty());
  CHECK(values_of(R"([{"range": 5}, {"take": 2}])") == Numbers{0, 1});
  CHECK(values_of(R"([{"range": 5}, {"take": {"count": 9}}])") == Numbers{0, 1, 2, 3, 4});
  CHECK(values_of(R"([{"range": 5}, {"take": 0}])").empty());
  CHECK(values_of(R"([{"range": 5}, {"skip": 3}])") == Numbers{3, 4});
  CHECK(values_of(R"([{"range": 5}, {"skip": 9}])").empty());
  CHECK(values_of(R"([{"range": 5}, {"skip": 1}, {"take": 2}, {"repeat": 2}])") == Numbers{1, 2, 1, 2});
}

TEST_CASE("pipeline: batches are packed into one aligned tensor, the last one short or dropped") {
  const auto whole = dataset_of(R"([{"range": 5}, {"batch": {"size": 2}}])");
  CHECK(whole->spec()[0].shape == tensor::Shape{-1});
  CHECK(drain(whole).elements == std::vector<Numbers>{{0, 1}, {2, 3}, {4}});
  const auto dropped = dataset_of(R"([{"range": 5}, {"batch": {"size": 2, "drop_remainder": true}}])");
  CHECK(dropped->spec()[0].shape == tensor::Shape{2});
  CHECK(drain(dropped).elements == std::vector<Numbers>{{0, 1}, {2, 3}});
  CHECK(drain(dataset_of(R"([{"range": 4}, {"batch": 2}])")).elements.size() == 2);
  CHECK(values_of(R"([{"range": 3}, {"batch": {"size": 4, "drop_remainder": true}}])").empty());
  CHECK(drain(dataset_of(R"([{"range": 3}, {"batch": 1000000000000}])")).elements == std::vector<Numbers>{{0, 1, 2}});
  auto iterator =
      *dataset_of(
           R"([{"tensor_slices": [[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]}, {"shuffle": {"buffer": 3, "seed": 2}}, {"batch": 2}])")
           ->iterate();
  const Element batch = *iterator->next().value();
  CHECK(batch[0].shape() == tensor::Shape{2, 2});
  CHECK(reinterpret_cast<std::uintptr_t>(batch[0].data()) % tensor::kAlignment == 0);
  CHECK(batch[0].is_sole_owner());
  CHECK(iterator->next().value()->at(0).shape() == tensor::Shape{1, 2});
}

TEST_CASE("pipeline: batches of batches") {
  const auto nested = dataset_of(R"([{"range": 9}, {"batch": {"size": 2, "drop_remainder": true}}, {"batch": 3}])");
  CHECK(nested->spec()[0].shape == tensor::Shape{-1, 2});
  CHECK(drain(nested).elements == std::vector<Numbers>{{0, 1, 2, 3, 4, 5}, {6, 7}});
  CHECK(error_of(R"([{"range": 9}, {"batch": 2}, {"batch": 3}])").message ==
        "[2].batch: field 'value' varies in size (s64[-1]): set \"drop_remainder\": true in the batch before");
}

TEST_CASE("pipeline: rows of a shuffled batch belong together across fields") {
  auto iterator =
      *dataset_of(
           R"([{"tensor_slices": {"fields": {"x": [[0, 0], [1, 10], [2, 20], [3, 30], [4, 40]], "y": [0, 1, 2, 3, 4]}}},
                                  {"shuffle": {"buffer": 5, "seed": 1}}, {"repeat": 4}, {"batch": 3}])")
           ->iterate();
  int rows = 0;
  while (const auto batch = iterator->next().value()) {
    for (std::size_t i = 0; i < (*batch)[1].as<std::int32_t>().size(); ++i, ++rows) {
      const std::int32_t y = (*batch)[1].as<std::int32_t>()[i];
      CHECK((*batch)[0].as<std::int32_t>()[2 * i] == y);
      CHECK((*batch)[0].as<std::int32_t>()[2 * i + 1] == 10 * y);
    }
  }
  CHECK(rows == 20);
}

TEST_CASE("pipeline: knows how many elements there will be") {
  const auto count = [](const std::string& stages) {
    return dataset_of(R"([{"range": 10})" + stages + "]")->cardinality();
  };
  CHECK(count("") == 10);
  CHECK(count(R"(, {"shuffle": 3})") == 10);
  CHECK(count(R"(, {"repeat": 3})") == 30);
  CHECK(count(R"(, {"repeat": {}})") == Dataset::kInfinite);
  CHECK(count(R"(, {"repeat": {}}, {"repeat": 0})") == 0);
  CHECK(count(R"(, {"repeat": {}}, {"take": 7})") == 7);
  CHECK(count(R"(, {"repeat": {}}, {"skip": 7})") == Dataset::kInfinite);
  CHECK(count(R"(, {"batch": 4})") == 3);
  CHECK(count(R"(, {"batch": {"size": 4, "drop_remainder": true}})") == 2);
  CHECK(count(R"(, {"take": 100})") == 10);
  CHECK(count(R"(, {"skip": 4}, {"prefetch": {}})") == 6);
  CHECK(count(R"(, {"skip": 40})") == 0);
  CHECK(count(R"(, {"repeat": 9223372036854775807})") == INT64_MAX);
  CHECK(dataset_of(R"([{"range": 0}, {"repeat": {}}])")->cardinality() == 0);
}

TEST_CASE("pipeline: shards take every count-th element") {
  const std::string ten = R"([{"range": 10}])";
  CHECK(drain(shard_of(ten, 3, 0)).flat() == Numbers{0, 3, 6, 9});
  CHECK(drain(shard_of(ten, 3, 2)).flat() == Numbers{2, 5, 8});
  CHECK(shard_of(ten, 3, 0)->cardinality() == 4);
  CHECK(shard_of(ten, 3, 2)->cardinality() == 3);
  CHECK(drain(shard_of(ten, 20, 15)).flat().empty());
  CHECK(shard_of(ten, 20, 15)->cardinality() == 0);
  CHECK(drain(shard_of(ten, 1, 0)).flat().size() == 10);
  CHECK(values_of(R"([{"range": 10}, {"shard": {"count": 2, "index": 1}}, {"shard": {"count": 2, "index": 1}}])") ==
        Numbers{3, 7});
  const std::string batches = R"([{"range": 10}, {"batch": 3}])";
  CHECK(drain(shard_of(batches, 2, 1)).elements == std::vector<Numbers>{{3, 4, 5}, {9}});
  CHECK(shard_of(batches, 2, 1)->spec()[0].shape == tensor::Shape{-1});
  CHECK(error_of(R"([{"range": 4}, {"shard": {"count": 2, "index": 2}}])").message ==
        "[1].shard.index: must be between 0 and 1, for there are 2 shards");
  CHECK(error_of(R"([{"range": 4}, {"shard": 2}])").message == "[1].shard: must be an object, not a number");
}

TEST_CASE("pipeline: a map calls its function on every element") {
  DatasetContext context;
  context.find_function = [](const std::string& name, const ElementSpec& input,
                             const std::vector<std::string>& fields) -> Result<MapFunction> {
    if (name != "double") return fail(Code::kNotFound, "no function '{}'", name);
    CHECK(input[0].name == "value");
    CHECK(fields == std::vector<std::string>{"twice"});
    return MapFunction{{{"twice", DType::kS64, input[0].shape}}, [](const Element& element) -> Result<Element> {
                         Tensor out = Tensor::uninitialized(DType::kS64, element[0].shape());
                         for (std::int64_t i = 0; i < out.size(); ++i) {
                           const std::int64_t value = element[0].as<std::int64_t>()[static_cast<std::size_t>(i)];
                           if (value == 13) return fail(Code::kInvalidArgument, "13 is not liked");
                           out.mutable_as<std::int64_t>()[i] = 2 * value;
                         }
                         return Element{out};
                       }};
  };
  const auto mapped =
      dataset_of(R"([{"range": 3}, {"map": {"function": "double", "fields": ["twice"]}}, {"batch": 2}])", context);
  CHECK(mapped->spec()[0].name == "twice");
  CHECK(drain(mapped).elements == std::vector<Numbers>{{0, 2}, {4}});
  const auto batch_first =
      dataset_of(R"([{"range": 3}, {"batch": 2}, {"map": {"function": "double", "fields": ["twice"]}}])", context);
  CHECK(batch_first->spec()[0].shape == tensor::Shape{-1});
  CHECK(drain(batch_first).elements == std::vector<Numbers>{{0, 2}, {4}});
  CHECK(batch_first->cardinality() == 2);

  auto iterator =
      *dataset_of(R"([{"range": [13, 20]}, {"map": {"function": "double", "fields": ["twice"]}}])", context)->iterate();
  const auto error = iterator->next();
  REQUIRE_FALSE(error);
  CHECK(error.error().message == "map 'double': element 0: 13 is not liked");
  CHECK(iterator->next().value()->at(0).as<std::int64_t>()[0] == 28);  // a map goes on behind it, as tf.data's does

  CHECK(error_of(R"([{"range": 3}, {"map": {"function": "triple"}}])", context).message ==
        "[1].map.function: no function 'triple'");
  CHECK(error_of(R"([{"range": 3}, {"map": {"function": "double"}}])").message ==
        "[1].map: functions can't be called here");
  CHECK(error_of(R"([{"range": 3}, {"map": {}}])", context).message == "[1].map.function: is missing");
  CHECK(error_of(R"([{"range": 3}, {"map": {"function": "double", "fields": [1]}}])", context).message ==
        "[1].map.fields: must be a list of strings");
}

TEST_CASE("pipeline: a map that makes something else than it said is caught") {
  DatasetContext context;
  context.find_function = [](const std::string& name, const ElementSpec&,
                             const std::vector<std::string>&) -> Result<MapFunction> {
    return MapFunction{{{"y", DType::kF32, {}}}, [name](const Element& element) -> Result<Element> {
                         return name == "none" ? Element{} : element;
                       }};
  };
  auto iterator = *dataset_of(R"([{"range": 3}, {"map": {"function": "same"}}])", context)->iterate();
  CHECK(iterator->next().error().message == "map 'same': field 'y' is s64[] instead of f32[]");
  iterator = *dataset_of(R"([{"range": 3}, {"map": {"function": "none"}}])", context)->iterate();
  CHECK(iterator->next().error().message == "map 'none' made 0 fields instead of 1");
}

TEST_CASE("pipeline: names what is wrong, and where") {
  CHECK(error_of(R"([{"range": 4}, {"batch": {"size": 0}}])").message == "[1].batch.size: must be positive, not 0");
  CHECK(error_of(R"([{"range": 4}, {"take": 1}, {"skip": 0}, {"batch": {"size": -3}}])").message ==
        "[3].batch.size: must be positive, not -3");
  CHECK(error_of(R"([{"range": 4}, {"batch": {"sise": 4}}])").message ==
        "[1].batch.sise: unknown key, did you mean 'size'?");
  CHECK(error_of(R"([{"range": 4}, {"batch": 2.5}])").message == "[1].batch.size: must be a whole number, not 2.5");
  CHECK(error_of(R"([{"range": 4}, {"batch": "2"}])").message == "[1].batch: must be an object, not a string");
  CHECK(error_of(R"([{"range": 4}, {"batch": {"size": 2, "drop_remainder": "yes"}}])").message ==
        "[1].batch.drop_remainder: must be true or false, not a string");
  CHECK(error_of(R"([{"range": 4}, {"batch": 9223372036854775807}])")
            .message.starts_with("[1].batch.size: a tensor of shape "));
  CHECK(error_of(R"([{"range": 4}, {"bacth": 2}])").message ==
        "[1].bacth: unknown transformation, did you mean 'batch'?");
  CHECK(error_of(R"([{"rnage": 4}])").message == "[0].rnage: unknown source, did you mean 'range'?");
  CHECK(error_of(R"([{"parquet": 4}])").message ==
        "[0].parquet: unknown source (available: csv, jsonl, text, tfrecord, npy, idx, npz, safetensors, range, "
        "tensor_slices and command)");
  CHECK(error_of(R"([{"batch": 4}])").message ==
        "[0].batch: a pipeline starts with a source (csv, jsonl, text, tfrecord, npy, idx, npz, safetensors, "
        "range, tensor_slices and command)");
  CHECK(error_of(R"([{"range": 4}, {"range": 4}])").message == "[1].range: a source can only come first");
  CHECK(error_of(R"([{"range": 4}, {"take": -1}])").message == "[1].take.count: must be at least 0, not -1");
  CHECK(error_of(R"([{"range": 4}, {"skip": {}}])").message == "[1].skip.count: is missing");
  CHECK(error_of(R"([{"range": 4}, {"repeat": -2}])").message == "[1].repeat.count: must be at least -1, not -2");
  CHECK(error_of(R"([{"range": 4}, {"prefetch": 0}])").message == "[1].prefetch.buffer: must be positive, not 0");
  CHECK(error_of(R"([{"range": 4}, {"batch": 2, "take": 1}])")
            .message.starts_with("[1]: must be an object with one key"));
  CHECK(error_of(R"([3])").message.starts_with("[0]: must be an object with one key"));
  CHECK(error_of("[]").message.starts_with("a dataset must be a list of stages"));
  CHECK(error_of(R"({"range": 4})").message.starts_with("a dataset must be a list of stages"));
}
