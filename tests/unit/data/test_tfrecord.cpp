// SPDX-License-Identifier: Apache-2.0
//
// TFRecord files of tf.Examples. The golden ones were written, and parsed, by TensorFlow (tests/vectors/data_files.py).
#include "kit.hpp"
#include "sources/example.hpp"
#include "tfd/base/protobuf.hpp"
#include "tfd/data/tfrecord.hpp"
#include "tfd/tensor/json.hpp"

using namespace tfd;
using namespace tfd::data;
using nlohmann::json;
using tensor::DType;

namespace {

const DatasetContext kGolden{.directory = TFD_GOLDEN_DATA};

json golden() { return json::parse(std::ifstream(TFD_GOLDEN_DATA "/elements.json")); }

std::string framed(const std::vector<std::string>& records) {
  std::string out;
  for (const std::string& record : records) append_record(out, record);
  return out;
}

std::string message(int field, const std::string& bytes) {
  std::string out;
  protobuf::append_bytes(out, field, bytes);
  return out;
}
// An Example of one feature, whose value is this list of this kind (1 bytes, 2 floats, 3 integers).
std::string example_of(const std::string& name, int kind, const std::string& list) {
  return message(1, message(1, message(1, name) + message(2, message(kind, list))));
}
std::string integers(const std::vector<std::int64_t>& values) {
  std::string packed;
  for (const std::int64_t value : values) protobuf::append_varint(packed, static_cast<std::uint64_t>(value));
  return message(1, packed);
}
std::string floats(const std::vector<float>& values) {
  return message(1, {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(float)});
}

// Field "x" of the file's elements.
Drained read(const std::string& bytes, const std::string& feature, const std::string& more = "") {
  const TemporaryDirectory directory;
  directory.write("a.tfrecord", bytes);
  Drained drained =
      drain(dataset_of(R"([{"tfrecord": {"path": "a.tfrecord", "features": {"x": )" + feature + "}" + more + "}}]",
                       directory.context()));
  if (drained.error) {
    const std::string prefix = directory.path() + "/";
    const auto at = drained.error->message.find(prefix);
    if (at != std::string::npos) drained.error->message.erase(at, prefix.size());
  }
  return drained;
}
std::string wrong(const std::string& record, const std::string& feature) {
  const Drained drained = read(framed({record}), feature);
  REQUIRE(drained.error);
  return drained.error->message;
}

}  // namespace

TEST_CASE("tfrecord: what TensorFlow wrote is what TensorFlow parses") {
  const json expected = golden()["examples"];
  const std::string features = R"("features": {"pixels": {"shape": [2, 3]}, "label": {"dtype": "s64"},
      "raw": {"dtype": "s16", "shape": [4]}, "text": {"dtype": "u8", "shape": [-1]},
      "ids": {"dtype": "s32", "shape": [-1]}, "weight": {"default": 0.5}})";
  for (const char* name : {"examples.tfrecord", "examples.tfrecord.gz"}) {
    CAPTURE(name);
    const auto dataset = dataset_of(fmt::format(R"([{{"tfrecord": {{"path": "{}", {}}}}}])", name, features), kGolden);
    const auto iterator = dataset->iterate().value();
    for (const json& one : expected) {
      const Element element = iterator->next().value().value();
      for (std::size_t i = 0; i < dataset->spec().size(); ++i) {
        CAPTURE(dataset->spec()[i].name);
        CHECK(tensor::tensor_to_json(element[i]) == one[dataset->spec()[i].name]);
      }
    }
    CHECK_FALSE(iterator->next().value());
  }
}

TEST_CASE("tfrecord: checksums are Castagnoli's") {
  CHECK(crc32c("") == 0);
  CHECK(crc32c("123456789") == 0xE3069283);
  CHECK(crc32c(std::string(32, '\0')) == 0x8A9136AA);  // RFC 3720, B.4
  CHECK(crc32c(std::string(32, '\xff')) == 0x62A8AB43);
  std::string counting;
  for (int i = 0; i < 32; ++i) counting += static_cast<char>(i);
  CHECK(crc32c(counting) == 0x46DD794E);
}

TEST_CASE("tfrecord: without features a record is its bytes") {
  const TemporaryDirectory directory;
  directory.write("a.tfrecord", framed({"abc", "", std::string(3000000, 'x')}));
  const auto dataset = dataset_of(R"([{"tfrecord": {"path": "a.tfrecord", "field": "bytes"}}])", directory.context());
  CHECK(dataset->spec() == ElementSpec{text_field("bytes")});
  const auto elements = drain(dataset).elements;
  REQUIRE(elements.size() == 3);
  CHECK(elements[0] == Numbers{'a', 'b', 'c'});
  CHECK(elements[1].empty());
  CHECK(elements[2].size() == 3000000);
}

TEST_CASE("tfrecord: an element that is encoded is parsed to the same") {
  ElementSpec spec;
  std::vector<ExampleFeature> features;
  Element element;
  for (const DType dtype : {DType::kBool, DType::kS8, DType::kS16, DType::kS32, DType::kS64, DType::kU8, DType::kU16,
                            DType::kU32, DType::kU64, DType::kF16, DType::kBF16, DType::kF32, DType::kF64})
    for (const tensor::Shape& shape : {tensor::Shape{}, tensor::Shape{2, 3}, tensor::Shape{0}}) {
      spec.push_back({fmt::format("{}{}", dtype_name(dtype), shape.size()), dtype, shape});
      features.push_back({spec.back()});
      tensor::Tensor value = tensor::Tensor::uninitialized(dtype, shape);
      for (std::size_t i = 0; i < value.byte_size(); ++i)
        value.mutable_data()[i] = static_cast<std::byte>(dtype == DType::kBool ? i % 2 : i * 37 + 100);
      element.push_back(std::move(value));
    }
  const std::string bytes = encode_example(spec, element);
  BlockBuilder builder(spec, 1);
  builder.prepare();
  const auto parsed = parse_example(bytes, features, builder);
  REQUIRE_MESSAGE(parsed.has_value(), (parsed ? std::string() : parsed.error().message));
  builder.commit();
  const Element again = to_element({builder.take(), 0});
  for (std::size_t i = 0; i < spec.size(); ++i) {
    CAPTURE(spec[i].name);
    CHECK(tensor::same_bytes(again[i], element[i]));
  }
}

TEST_CASE("tfrecord: lists packed or not, of several texts, of an absent or doubled feature") {
  std::string unpacked;
  protobuf::append_number(unpacked, 1, 7);
  protobuf::append_number(unpacked, 1, static_cast<std::uint64_t>(-8));
  CHECK(read(framed({example_of("x", 3, unpacked)}), R"({"dtype": "s8", "shape": [2]})").flat() == Numbers{7, -8});
  unpacked.clear();
  protobuf::append_float(unpacked, 1, 1.5F);
  protobuf::append_float(unpacked, 1, 2.5F);
  CHECK(read(framed({example_of("x", 2, unpacked)}), R"({"dtype": "f16", "shape": [-1]})").flat() == Numbers{1.5, 2.5});
  const std::string texts = message(1, "ab") + message(1, "cd") + message(1, "ef");
  CHECK(read(framed({example_of("x", 1, texts)}), R"({"dtype": "u8", "shape": [-1, 2]})").flat() ==
        Numbers{'a', 'b', 'c', 'd', 'e', 'f'});
  const std::string twice = example_of("x", 3, integers({1})) + example_of("x", 3, integers({2}));
  CHECK(read(framed({twice}), R"({"dtype": "s32"})").flat() == Numbers{2});
  const std::string other = example_of("y", 3, integers({1}));
  CHECK(read(framed({other, example_of("x", 3, integers({4}))}), R"({"dtype": "s32", "default": 9})").flat() ==
        Numbers{9, 4});
  CHECK(read(framed({other}), R"({"shape": [2], "default": [1, 2]})").flat() == Numbers{1, 2});
  CHECK(read(framed({other}), R"({"shape": [-1]})").elements == std::vector<Numbers>{{}});
  CHECK(read(framed({""}), R"({"shape": [-1]})").elements == std::vector<Numbers>{{}});
}

TEST_CASE("tfrecord: names the record, the feature and what is wrong with it") {
  const std::string at = "a.tfrecord: record 1: ";
  CHECK(wrong(example_of("y", 3, integers({1})), "{}") == at + "feature 'x': is missing");
  CHECK(wrong(example_of("x", 3, integers({1})), "{}") ==
        at + "feature 'x': integers (int64_list), but the field is f32[]");
  CHECK(wrong(example_of("x", 2, floats({1})), R"({"dtype": "s32"})") ==
        at + "feature 'x': floats (float_list), but the field is s32[]");
  CHECK(wrong(example_of("x", 2, floats({1, 2})), R"({"shape": [3]})") ==
        at + "feature 'x': 2 values instead of f32[3]");
  CHECK(wrong(example_of("x", 2, floats({1, 2, 3})), R"({"shape": [-1, 2]})") ==
        at + "feature 'x': 3 values instead of f32[-1, 2]");
  CHECK(wrong(example_of("x", 3, integers({300})), R"({"dtype": "u8"})") == at + "feature 'x': 300 does not fit u8");
  CHECK(wrong(example_of("x", 3, integers({2})), R"({"dtype": "bool"})") == at + "feature 'x': 2 does not fit bool");
  CHECK(wrong(example_of("x", 1, message(1, "abc")), R"({"dtype": "s16", "shape": [-1]})") ==
        at + "feature 'x': 3 bytes, but the field is s16[-1]");
  CHECK(wrong(example_of("x", 1, message(1, "ab") + message(1, "c")), R"({"dtype": "u8", "shape": [-1]})") ==
        at + "feature 'x': texts of 2 and of 1 bytes in one feature");
  CHECK(wrong(example_of("x", 1, message(1, "ab") + message(1, "cd")), R"({"dtype": "u8", "shape": [-1]})") ==
        at + "feature 'x': 2 texts instead of u8[-1]");
  CHECK(wrong("\xff\xff", "{}") == at + "not a tf.Example");
  CHECK(wrong(std::string("\x0a\x05xx"), "{}") == at + "not a tf.Example");
}

TEST_CASE("tfrecord: a cut-off file and wrong checksums name the record; what can be passed over is") {
  std::vector<std::string> records;
  for (std::int64_t i = 0; i < 5; ++i) records.push_back(example_of("x", 3, integers({i})));
  const std::string bytes = framed(records);
  const std::size_t each = bytes.size() / 5;
  const std::string feature = R"({"dtype": "s64"})";
  for (std::size_t size = 1; size < bytes.size(); ++size) {
    CAPTURE(size);
    const Drained drained = read(bytes.substr(0, size), feature);
    CHECK(drained.elements.size() == size / each);
    if (size % each == 0)
      CHECK_FALSE(drained.error);
    else
      CHECK(drained.error->message == fmt::format("a.tfrecord is cut off after record {}", size / each));
  }
  for (std::size_t at = each; at < 2 * each; ++at) {
    CAPTURE(at);
    std::string broken = bytes;
    broken[at] = static_cast<char>(broken[at] ^ 0x40);
    const bool is_length = at - each < 12;
    const Drained drained = read(broken, feature);
    CHECK(drained.flat() == Numbers{0});
    CHECK(drained.error->code == Code::kDataLoss);
    CHECK(drained.error->message ==
          fmt::format("a.tfrecord: record 2: the checksum of its {} is wrong", is_length ? "length" : "data"));
    const Drained rest = read(broken, feature, R"(, "on_error": "skip")");
    CHECK_FALSE(rest.error);
    CHECK(rest.flat() == (is_length ? Numbers{0} : Numbers{0, 2, 3, 4}));
  }
  CHECK(read("a text, and no records at all", feature).error->message ==
        "a.tfrecord: record 1: the checksum of its length is wrong: not a TFRecord file, or corrupt");
  CHECK(read(gzipped(bytes).substr(0, 40), feature).error->code == Code::kDataLoss);
}

TEST_CASE("tfrecord: names what is wrong with its options") {
  const auto records = [](const std::string& body) {
    return error_of(R"([{"tfrecord": )" + body + "}]", {.look_at_files = false}).message;
  };
  CHECK(records(R"({})") == "[0].tfrecord.path: is missing");
  CHECK(records(R"({"path": "x", "feature": {}})") == "[0].tfrecord.feature: unknown key, did you mean 'features'?");
  CHECK(records(R"({"path": "x", "features": {}})") ==
        "[0].tfrecord.features: must be an object with at least one field");
  CHECK(records(R"({"path": "x", "features": {"x": {"shape": [2, -1]}}})") ==
        "[0].tfrecord.features.x.shape: must be a list of sizes");
  CHECK(records(R"({"path": "x", "features": {"x": {"shape": [2], "default": [1]}}})")
            .starts_with("[0].tfrecord.features.x.default: "));
  CHECK(records(R"({"path": "x", "field": "y", "features": {"x": {}}})") ==
        "[0].tfrecord.field: is for records without features");
}
