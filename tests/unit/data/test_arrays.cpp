// SPDX-License-Identifier: Apache-2.0
#include "kit.hpp"
#include "tfd/base/file.hpp"
#include "tfd/tensor/npy.hpp"
#include "tfd/tensor/safetensors.hpp"

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

namespace {

// MNIST's format, of unsigned bytes.
std::string idx_of(const std::vector<std::uint8_t>& sizes, const std::string& values, char type = 8) {
  std::string out{'\0', '\0', type, static_cast<char>(sizes.size())};
  for (const std::uint8_t size : sizes) out += std::string(3, '\0') + static_cast<char>(size);
  return out + values;
}

const DatasetContext kGoldenArrays{.directory = TFD_GOLDEN_DATA};

}  // namespace

TEST_CASE("npy: compressed files are read as they are") {
  const TemporaryDirectory directory;
  REQUIRE(tensor::save_npy(directory / "x.npy", counting(DType::kF32, {500, 2})));
  std::ifstream file(directory / "x.npy", std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(file), {}};
  directory.write("x.npy.gz", gzipped(bytes));
  const auto dataset = dataset_of(R"([{"npy": {"path": "x.npy.gz", "field": "x"}}])", directory.context());
  CHECK(dataset->cardinality() == 500);
  CHECK(drain(dataset).elements.back() == Numbers{998, 999});
  directory.write("x.npy.gz", gzipped(bytes).substr(0, 300));
  const auto cut = dataset_of(R"([{"npy": {"path": "x.npy.gz", "field": "x"}}])", directory.context())->iterate();
  REQUIRE_FALSE(cut);
  CHECK(cut.error().code == Code::kDataLoss);
  CHECK(cut.error().message.starts_with(directory / "x.npy.gz is cut off after byte "));
}

TEST_CASE("idx: rows of images and their labels, compressed or not") {
  const TemporaryDirectory directory;
  directory.write("images", idx_of({3, 2, 2}, std::string("\x00\x01\x02\x03\x04\x05\x06\x07\x08\x09\x0a\xff", 12)));
  directory.write("labels.gz", gzipped(idx_of({3}, std::string("\x07\x08\x09", 3))));
  const auto dataset = dataset_of(
      R"([{"idx": {"fields": {"image": {"path": "images"}, "label": {"path": "labels.gz", "dtype": "u8", "shape": []}}}}])",
      directory.context());
  CHECK(dataset->spec() == ElementSpec{{"image", DType::kU8, {2, 2}}, {"label", DType::kU8, {}}});
  CHECK(dataset->cardinality() == 3);
  CHECK(drain(dataset).elements.back() == Numbers{8, 9, 10, 255});
  directory.write("wide", idx_of({2}, std::string("\x00\x00\x01\x02\xff\xff\xff\xfe", 8), 0x0c));
  CHECK(values_of(R"([{"idx": {"path": "wide", "field": "x"}}])", directory.context()) == Numbers{258, -2});
  directory.write("floats", idx_of({1}, std::string("\x3f\xc0\x00\x00", 4), 0x0d));
  CHECK(values_of(R"([{"idx": {"path": "floats", "field": "x"}}])", directory.context()) == Numbers{1.5});
}

TEST_CASE("idx: names what is wrong with the file") {
  const TemporaryDirectory directory;
  const auto wrong = [&](const std::string& bytes) {
    directory.write("a.idx", bytes);
    const auto made = try_dataset_of(R"([{"idx": {"path": "a.idx", "field": "x"}}])", directory.context());
    const Error error = made ? drain(*made).error.value() : made.error();
    const std::string path = directory / "a.idx";
    return error.message.substr(error.message.find(path) + path.size());
  };
  CHECK(wrong("") == " is not an idx file");
  CHECK(wrong("abcd") == " is not an idx file");
  CHECK(wrong(idx_of({1}, "a", 7)) == ": idx type 0x07 is unknown");
  CHECK(wrong(idx_of({3}, "abc").substr(0, 6)) == " is cut off after byte 6");
  CHECK(wrong(idx_of({200}, "abc")) == " is cut off: u8[200] takes 200 bytes, but there are only 11");
  directory.write("a.idx", idx_of({9}, "abc"));
  CHECK_FALSE(dataset_of(R"([{"idx": {"path": "a.idx", "field": "x"}}])", directory.context())->iterate());
  CHECK(wrong(idx_of({}, "")) == " is a scalar: it has no rows");
}

TEST_CASE("npz: what NumPy saved, stored and deflated, all of it or some by name") {
  for (const char* name : {"arrays.npz", "compressed.npz"}) {
    CAPTURE(name);
    const auto all = dataset_of(fmt::format(R"([{{"npz": {{"path": "{}"}}}}])", name), kGoldenArrays);
    CHECK(all->spec() == ElementSpec{{"x", DType::kF32, {3}}, {"y", DType::kS64, {}}, {"flag", DType::kBool, {}}});
    CHECK(all->cardinality() == 4);
    const auto iterator = all->iterate().value();
    iterator->skip(1).value();
    const Element second = *iterator->next().value();
    CHECK(numbers_of(second[0]) == Numbers{1.5, 2, 2.5});
    CHECK(numbers_of(second[1]) == Numbers{-1});
    CHECK(numbers_of(second[2]) == Numbers{0});
    CHECK(values_of(fmt::format(R"([{{"npz": {{"path": "{}", "fields": {{"label": {{"key": "y"}}}}}}}}])", name),
                    kGoldenArrays) == Numbers{3, -1, 4, 1});
  }
}

TEST_CASE("npz: names the array and what is wrong") {
  const auto wrong = [&](const std::string& body) {
    return error_of(R"([{"npz": )" + body + "}]", kGoldenArrays).message;
  };
  CHECK(wrong(R"({"path": "arrays.npz", "fields": {"z": {}}})") == "[0].npz.fields.z: " TFD_GOLDEN_DATA
                                                                   "/arrays.npz: no array 'z' (there: x, y and flag)");
  CHECK(wrong(R"({"path": "elements.json"})") ==
        "[0].npz.path: " TFD_GOLDEN_DATA
        "/elements.json is not an .npz file, or is cut off: it doesn't end as a zip file");
  CHECK(wrong(R"({"path": "nope.npz"})").ends_with("no such file or directory"));
  CHECK(wrong(R"({"path": "arrays.npz", "fields": {"x": {"shape": [2]}}})").ends_with("are f32[3], not f32[2]"));

  // Whatever byte is damaged, it is noticed, or it is none that matters.
  std::ifstream file(TFD_GOLDEN_DATA "/compressed.npz", std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(file), {}};
  const TemporaryDirectory directory;
  directory.write("a.npz", bytes);
  const std::string pipeline = R"([{"npz": {"path": "a.npz", "fields": {"x": {}}}}])";
  const Numbers right = values_of(pipeline, directory.context());
  for (std::size_t at = 0; at < bytes.size(); at += 3) {
    CAPTURE(at);
    std::string broken = bytes;
    broken[at] = static_cast<char>(broken[at] ^ 0x11);
    directory.write("a.npz", broken);
    const auto made = try_dataset_of(pipeline, directory.context());
    const auto iterator = made ? (*made)->iterate() : Result<std::unique_ptr<Iterator>>(tl::unexpected(made.error()));
    if (iterator) CHECK(drain(**iterator).flat() == right);
    if (!iterator) CHECK(iterator.error().message.find("a.npz") != std::string::npos);
  }
}

TEST_CASE("safetensors: tensors are columns") {
  const TemporaryDirectory directory;
  REQUIRE(tensor::save_safetensors(directory / "a.safetensors",
                                   {{{"w", counting(DType::kF32, {3, 2})}, {"b", counting(DType::kS64, {3})}}, {}}));
  const auto all = dataset_of(R"([{"safetensors": {"path": "a.safetensors"}}])", directory.context());
  CHECK(all->spec() == ElementSpec{{"b", DType::kS64, {}}, {"w", DType::kF32, {2}}});
  CHECK(drain(all).flat() == Numbers{0, 1, 2});
  CHECK(values_of(R"([{"safetensors": {"path": "a.safetensors", "fields": {"x": {"key": "w"}}}}, {"skip": 2}])",
                  directory.context()) == Numbers{4, 5});
  CHECK(error_of(R"([{"safetensors": {"path": "a.safetensors", "fields": {"x": {}}}}])", directory.context())
            .message.ends_with("no tensor 'x'"));
}

TEST_CASE("safetensors: compressed by gzip it is the same file") {
  const TemporaryDirectory directory;
  const std::string path = directory / "a.safetensors", packed = directory / "b.safetensors.gz";
  REQUIRE(tensor::save_safetensors(path, {{{"w", counting(DType::kF32, {3, 2})},
                                           {"b", counting(DType::kS64, {3})},
                                           {"large", counting(DType::kF32, {3, 1 << 20})},
                                           {"last", counting(DType::kS64, {3})}},
                                          {}}));
  const std::string plain = load_file(path, 64 << 20).value(), bytes = gzipped(plain);
  directory.write("b.safetensors.gz", bytes);
  const auto of = [&](const std::string& file, const std::string& fields) {
    return dataset_of(fmt::format(R"([{{"safetensors": {{"path": "{}"{}}}}}])", file, fields), directory.context());
  };
  CHECK(of(packed, "")->spec() == of(path, "")->spec());
  for (const char* key : {"b", "w", "last"}) {
    const std::string fields = fmt::format(R"(, "fields": {{"x": {{"key": "{}"}}}})", key);
    CHECK(of(packed, fields)->cardinality() == 3);
    CHECK(drain(of(packed, fields)).elements == drain(of(path, fields)).elements);
  }
  CHECK(error_of(R"([{"safetensors": {"path": "b.safetensors.gz", "fields": {"x": {}}}}])", directory.context())
            .message.ends_with("b.safetensors.gz: no tensor 'x'"));

  const auto wrong = [&](const std::string& broken) {
    directory.write("b.safetensors.gz", broken);
    const auto made =
        try_dataset_of(R"([{"safetensors": {"path": "b.safetensors.gz", "fields": {"w": {}}}}])", directory.context());
    const auto iterator = made ? (*made)->iterate() : Result<std::unique_ptr<Iterator>>(tl::unexpected(made.error()));
    REQUIRE_FALSE(iterator);
    CHECK(iterator.error().code == Code::kDataLoss);
    const std::string& message = iterator.error().message;
    return message.substr(message.find(packed) + packed.size());
  };
  CHECK(wrong(bytes.substr(0, 12)) == " is cut off after byte 0");
  CHECK(wrong(bytes.substr(0, bytes.size() / 2)).starts_with(" is cut off after byte "));
  CHECK(wrong(bytes.substr(0, bytes.size() - 8)) == fmt::format(" is cut off after byte {}", plain.size()));
  std::string other_sum = bytes;
  other_sum[bytes.size() - 8] ^= 1;
  CHECK(wrong(other_sum) == fmt::format(" is corrupt after byte {}: incorrect data check", plain.size()));
  CHECK(wrong(gzipped(plain.substr(0, 5))) == " is cut off after byte 5");
  // No memory is taken for what can't be there.
  const std::string header = R"({"w":{"dtype":"U8","shape":[3,1000000000],"data_offsets":[0,3000000000]}})";
  CHECK(wrong(gzipped(std::string{static_cast<char>(header.size()), 0, 0, 0, 0, 0, 0, 0} + header))
            .starts_with(": cut off: tensor 'w' ends at byte 3000000000 of the data"));

  // A header as long as gzip's magic is as a number.
  std::string padded = header.substr(0, header.find("[3,")) + R"([3],"data_offsets":[0,3]}})";
  padded.resize(0x8b1f, ' ');
  directory.write("c.safetensors", std::string{0x1f, '\x8b', 0, 0, 0, 0, 0, 0} + padded + "abc");
  CHECK(drain(of("c.safetensors", "")).flat() == Numbers{'a', 'b', 'c'});
}

TEST_CASE("plan: what the headers of files say can be stated for those that can't look at them") {
  const TemporaryDirectory directory;
  directory.write("labels", idx_of({3}, "abc"));
  const std::string golden = TFD_GOLDEN_DATA "/arrays.npz";
  Plan plan = parse_plan(nlohmann::ordered_json::parse(
                             R"([{"npz": {"path": ")" + golden +
                             R"("}}, {"zip": [{"idx": {"path": "labels", "field": "label"}}, {"take": 2}]}])"))
                  .value();
  DatasetContext far{.directory = directory.path()};
  far.look_at_files = false;
  CHECK_FALSE(instantiate(plan, far));
  REQUIRE(state_specs(plan, directory.context()));
  const auto dataset = instantiate(plan, far);
  REQUIRE(dataset);
  CHECK((*dataset)->spec() ==
        ElementSpec{
            {"x", DType::kF32, {3}}, {"y", DType::kS64, {}}, {"flag", DType::kBool, {}}, {"label", DType::kU8, {}}});
  CHECK(drain(*dataset).elements.size() == 2);
}
