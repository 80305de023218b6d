// SPDX-License-Identifier: Apache-2.0
#include <filesystem>

#include "kit.hpp"
#include "tfd/data/write.hpp"

using namespace tfd;
using namespace tfd::data;

namespace {

Result<std::int64_t> write(const std::string& path, const std::string& pipeline, std::int64_t most = 1000) {
  const auto dataset = dataset_of(pipeline);
  const auto iterator = dataset->iterate().value();
  return path.ends_with(".npy") ? write_npy(path, dataset->spec(), *iterator, most)
                                : write_tfrecord(path, dataset->spec(), *iterator, most);
}

}  // namespace

TEST_CASE("write: what is written is read again, compressed or not") {
  const TemporaryDirectory directory;
  const std::string pipeline =
      R"([{"tensor_slices": {"fields": {"x": [[1.5, 2], [3, 4]], "n": {"dtype": "u64", "shape": [2], "data": [1, 2]}}}}])";
  for (const std::string name : {"a.tfrecord", "a.tfrecord.gz"}) {
    CHECK(write(directory / name, pipeline) == 2);
    const auto again = dataset_of(
        R"([{"tfrecord": {"path": ")" + name + R"(", "features": {"x": {"shape": [2]}, "n": {"dtype": "u64"}}}}])",
        directory.context());
    const auto elements = drain(again).elements;
    CHECK(elements == std::vector<Numbers>{{1.5, 2}, {3, 4}});
  }
  CHECK(std::filesystem::file_size(directory / "a.tfrecord") > 0);
  CHECK(write(directory / "r.npy", R"([{"range": 5}, {"window": {"size": 2, "shift": 1, "drop_remainder": true}}])",
              3) == 3);
  CHECK(values_of(R"([{"npy": {"path": "r.npy", "field": "x"}}])", directory.context()) == Numbers{0, 1, 1, 2, 2, 3});
  CHECK(directory.names().size() == 3);
}

TEST_CASE("write: an older file stays where a new one can't be made whole") {
  const TemporaryDirectory directory;
  CHECK(write(directory / "a.tfrecord", R"([{"range": 3}])") == 3);
  directory.write("bad.csv", "1\n2\nx\n");
  const auto dataset =
      dataset_of(R"([{"csv": {"path": "bad.csv", "fields": {"x": {"columns": 0}}}}])", directory.context());
  const auto failed = write_tfrecord(directory / "a.tfrecord", dataset->spec(), *dataset->iterate().value(), 1000);
  REQUIRE_FALSE(failed);
  CHECK(failed.error().message == directory / "bad.csv:3: column 0: 'x' is not a number");
  CHECK(drain(dataset_of(R"([{"tfrecord": {"path": "a.tfrecord"}}])", directory.context())).elements.size() == 3);
  CHECK(directory.names().size() == 2);
}

TEST_CASE("write: an array has one field and rows that are alike") {
  const TemporaryDirectory directory;
  CHECK(write(directory / "a.npy", R"([{"range": 5}, {"batch": 2}])").error().message ==
        directory / "a.npy: element 2 is s64[1], but the first one is s64[2]: all rows of an array have one shape");
  CHECK(write(directory / "a.npy", R"([{"range": 5}, {"enumerate": {}}])").error().message ==
        directory / "a.npy: an .npy file has one array, but the elements have 2 fields");
  CHECK(write(directory / "a.npy", R"([{"range": 0}])").error().message == directory / "a.npy: there are no elements");
  CHECK(write(directory / "no/a.tfrecord", R"([{"range": 1}])").error().code == Code::kNotFound);
}
