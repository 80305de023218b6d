// SPDX-License-Identifier: Apache-2.0
//
// text and jsonl.
#include <cmath>

#include "kit.hpp"

using namespace tfd;
using namespace tfd::data;
using tensor::DType;

namespace {

std::vector<std::string> texts_of(const std::string& pipeline, const DatasetContext& context) {
  const auto iterator = dataset_of(pipeline, context)->iterate().value();
  std::vector<std::string> texts;
  while (const auto element = iterator->next().value()) {
    const auto bytes = element->front().bytes();
    texts.emplace_back(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  }
  return texts;
}

// The error of a file of these lines.
std::string wrong(const std::string& lines, const std::string& field = R"({"dtype": "f32"})") {
  const TemporaryDirectory directory;
  directory.write("a.jsonl", lines);
  const std::string pipeline = R"([{"jsonl": {"path": "a.jsonl", "fields": {"x": )" + field + "}}}]";
  const Drained drained = drain(dataset_of(pipeline, directory.context()));
  REQUIRE(drained.error);
  const std::string prefix = directory / "a.jsonl:";
  CHECK(drained.error->message.starts_with(prefix));
  return drained.error->message.substr(prefix.size());
}

}  // namespace

TEST_CASE("text: a line is its bytes, of any length") {
  const TemporaryDirectory directory;
  directory.write("a.txt", "one\r\n\nthree, \xc3\xa9");
  directory.write("b.txt.gz", gzipped("packed\n"));
  const auto context = directory.context();
  const auto dataset = dataset_of(R"([{"text": {"path": "a.txt", "field": "line"}}])", context);
  CHECK(dataset->spec() == ElementSpec{text_field("line")});
  CHECK(texts_of(R"([{"text": {"path": "a.txt"}}])", context) ==
        std::vector<std::string>{"one", "", "three, \xc3\xa9"});
  CHECK(texts_of(R"([{"text": {"path": "*.txt*"}}, {"skip": 3}])", context) == std::vector<std::string>{"packed"});
  CHECK(error_of(R"([{"text": {"path": "a.txt"}}, {"batch": 2}])", context).message ==
        "[1].batch: field 'value' varies in size (string): use padded_batch");
  CHECK(error_of(R"([{"text": {"file": "a.txt"}}])", context).message == "[0].text.file: unknown key");
}

TEST_CASE("jsonl: fields are numbers, lists of a shape, lists of any length, and texts") {
  const TemporaryDirectory directory;
  directory.write("a.jsonl",
                  "{\"x\": 1.5, \"n\": [1, 2], \"any\": [[1, 2]], \"text\": \"ab\", \"more\": {\"a\": null}}\n\n"
                  "{\"text\": \"\", \"any\": [], \"n\": [3, 4], \"x\": \"NaN\"}\n");
  const auto dataset = dataset_of(
      R"([{"jsonl": {"path": "a.jsonl", "fields": {"x": {}, "n": {"dtype": "u8", "shape": [2]},
          "any": {"dtype": "s64", "shape": [-1, 2]}, "text": {"dtype": "u8", "shape": [-1]}}}}])",
      directory.context());
  CHECK(dataset->spec() ==
        ElementSpec{
            {"x", DType::kF32, {}}, {"n", DType::kU8, {2}}, {"any", DType::kS64, {-1, 2}}, {"text", DType::kU8, {-1}}});
  const auto iterator = dataset->iterate().value();
  const Element first = *iterator->next().value();
  CHECK(numbers_of(first[0]) == Numbers{1.5});
  CHECK(numbers_of(first[1]) == Numbers{1, 2});
  CHECK(numbers_of(first[2]) == Numbers{1, 2});
  CHECK(first[2].shape() == tensor::Shape{1, 2});
  CHECK(numbers_of(first[3]) == Numbers{'a', 'b'});
  const Element second = *iterator->next().value();
  CHECK(second[2].shape() == tensor::Shape{0, 2});
  CHECK(second[3].shape() == tensor::Shape{0});
  CHECK_FALSE(iterator->next().value());
}

TEST_CASE("jsonl: rows of one size are packed into blocks, many to a pass") {
  const TemporaryDirectory directory;
  std::string text;
  for (int i = 0; i < 66000; ++i) text += fmt::format("{{\"x\": [{}, {}]}}\n", i, i + 1);
  directory.write("a.jsonl.gz", gzipped(text));
  const auto dataset = dataset_of(
      R"([{"jsonl": {"path": "a.jsonl.gz", "fields": {"x": {"dtype": "s32", "shape": [2]}}}}])", directory.context());
  for (int pass = 0; pass < 2; ++pass) {
    const Drained all = drain(dataset);
    REQUIRE(all.elements.size() == 66000);
    CHECK(all.elements[65999] == Numbers{65999, 66000});
  }
}

TEST_CASE("jsonl: names the line, the field and what is wrong with it") {
  CHECK(wrong("{\"x\": 1}\n{\"x\": 1") == "2: not JSON at its byte 8");
  CHECK(wrong("[1]") == "1: not a JSON object");
  CHECK(wrong("{\"y\": 1}") == "1: 'x' is missing");
  CHECK(wrong("\n{\"x\": [1]}").starts_with("2: x: "));
  CHECK(wrong("{\"x\": null}") == "1: x: must be a number, not null");
  CHECK(wrong("{\"x\": {\"npy\": \"/etc/passwd\"}}") == "1: x: must be a number, not an object");
  CHECK(wrong("{\"x\": 1e400}").starts_with("1: "));
  const std::string list = R"({"dtype": "f32", "shape": [-1]})";
  CHECK(wrong("{\"x\": [1, 2]}\n{\"x\": 3}", list) == "2: x: must be a list");
  CHECK(wrong("{\"x\": [[1], [2, 3]]}", list).starts_with("1: x: "));
  CHECK(wrong("{\"x\": 1.5}", R"({"dtype": "s32"})") == "1: x: 1.5 is not a whole number");
  CHECK(wrong("{\"x\": \"abc\"}", R"({"dtype": "u8"})") == "1: x: a text, but the field is u8[]");
  CHECK(wrong("{\"x\": \"abc\"}", R"({"dtype": "u8", "shape": [2]})") ==
        "1: x: a text of 3 bytes, but the field is u8[2]");
}

TEST_CASE("jsonl: numbers are those of csv, NaN as Python's json writes it, too") {
  const TemporaryDirectory directory;
  directory.write("a.jsonl", "{\"x\": 2.0}\n{\"x\": 2e0}\n{\"x\": -0.0}\n");
  CHECK(values_of(R"([{"jsonl": {"path": "a.jsonl", "fields": {"x": {"dtype": "s32"}}}}])", directory.context()) ==
        Numbers{2, 2, 0});
  directory.write("b.jsonl", "{\"s\": \"NaN\", \"x\": [NaN, Infinity, -Infinity]}\n");
  const Numbers special =
      values_of(R"([{"jsonl": {"path": "b.jsonl", "fields": {"x": {"shape": [3]}}}}])", directory.context());
  REQUIRE(special.size() == 3);
  CHECK(std::isnan(special[0]));
  CHECK(special[1] == INFINITY);
  CHECK(special[2] == -INFINITY);
  directory.write("c.jsonl", "{\"x\": 9007199254740993}\n{\"x\": 9007199254740993.0}\n{\"x\": 1e18}\n");
  const auto iterator =
      dataset_of(R"([{"jsonl": {"path": "c.jsonl", "fields": {"x": {"dtype": "s64"}}}}])", directory.context())
          ->iterate()
          .value();
  for (const std::int64_t exact : {9007199254740993, 9007199254740993, 1000000000000000000})
    CHECK((**iterator->next())[0].as<std::int64_t>()[0] == exact);
  CHECK(wrong("{\"x\": NaN}", R"({"dtype": "s32"})") == "1: x: \"NaN\" is not a number");
  CHECK(wrong("{\"x\": null}", R"({"dtype": "string"})") == "1: x: must be a string, not null");
  CHECK(wrong("{\"x\": 5}", R"({"dtype": "string"})") == "1: x: must be a string, not 5");
  const std::string slices = R"([{"tensor_slices": {"dtype": "s32", "shape": [3], "data": [1.0, 2e0, 3]}}])";
  CHECK(values_of(slices) == Numbers{1, 2, 3});
}

TEST_CASE("jsonl: what is read fast is what is read otherwise, or is refused the same way") {
  const TemporaryDirectory directory;
  // A line that states a field twice isn't read fast; its last value is the one that counts.
  const auto outcome = [&](const std::string& line, const std::string& field) {
    directory.write("a.jsonl", line);
    const std::string pipeline = R"([{"jsonl": {"path": "a.jsonl", "fields": {"x": )" + field + "}}}]";
    const auto element = dataset_of(pipeline, directory.context())->iterate().value()->next();
    if (!element) return element.error().message;
    const tensor::Tensor& value = (*element)->front();
    std::string out = tensor::format_spec(value.spec());
    for (const std::byte byte : value.bytes()) out += fmt::format(" {:02x}", static_cast<int>(byte));
    return out;
  };
  const std::vector<std::string> values{"0",
                                        "-0",
                                        "-0.0",
                                        "1",
                                        "1.0",
                                        "1e3",
                                        "-7",
                                        "255",
                                        "256",
                                        "-129",
                                        "4294967295",
                                        "9223372036854775807",
                                        "9223372036854775808",
                                        "18446744073709551615",
                                        "18446744073709551616",
                                        "0.1",
                                        "16777217",
                                        "1e-320",
                                        "3.5e38",
                                        "1.7976931348623157e308",
                                        "0.30000000000000004",
                                        "9007199254740993",
                                        "true",
                                        "false",
                                        "null",
                                        "{}",
                                        "[]",
                                        "[1]",
                                        "[1, 2]",
                                        "[1, 2, 3]",
                                        "[[1, 2]]",
                                        "[[1, 2], [3, 4]]",
                                        "[[1], [2]]",
                                        "[[1, 2], [3]]",
                                        "[1, [2]]",
                                        "[1.5, -2.5]",
                                        "[true, 0]",
                                        R"([1, "NaN"])",
                                        R"("")",
                                        R"("ab")",
                                        R"("\u00e9\n")",
                                        R"("é")",
                                        R"("NaN")",
                                        R"("a\u0000b")"};
  std::vector<std::string> fields;
  for (const std::string dtype :
       {"bool", "s8", "s16", "s32", "s64", "u8", "u16", "u32", "u64", "f16", "bf16", "f32", "f64"})
    for (const std::string shape : {"[]", "[2]", "[-1]", "[-1, 2]", "[2, 2]"})
      fields.push_back(fmt::format(R"({{"dtype": "{}", "shape": {}}})", dtype, shape));
  fields.emplace_back(R"({"dtype": "string"})");
  for (const std::string& field : fields)
    for (const std::string& value : values) {
      CAPTURE(field);
      CAPTURE(value);
      CHECK(outcome(fmt::format(R"({{"x": {}}})", value), field) ==
            outcome(fmt::format(R"({{"x": 5, "x": {}}})", value), field));
    }
}
