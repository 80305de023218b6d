// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "kit.hpp"
#include "sources/sources.hpp"

using namespace tfd;
using namespace tfd::data;
using tensor::DType;

namespace {

// One pass over a file of this text, field "x" of dtype from `columns`.
struct Read {
  explicit Read(const std::string& text, const std::string& columns = "0", const std::string& dtype = "f32",
                const std::string& more = "") {
    directory.write("d.csv", text);
    const auto dataset = dataset_of(
        fmt::format(R"([{{"csv": {{"path": "d.csv", "fields": {{"x": {{"columns": {}, "dtype": "{}"}}}}{}}}}}])",
                    columns, dtype, more),
        directory.context());
    drained = drain(dataset);
    if (drained.error) {
      message = drained.error->message;
      const std::string prefix = directory / "d.csv";
      if (message.starts_with(prefix)) message = "d.csv" + message.substr(prefix.size());
    }
  }
  Numbers flat() const {
    CHECK(message == "");
    return drained.flat();
  }
  TemporaryDirectory directory;
  Drained drained;
  std::string message;
};

std::string one_field(const std::string& path) {
  return fmt::format(R"([{{"csv": {{"path": "{}", "fields": {{"x": {{"columns": 0}}}}}}}}])", path);
}

}  // namespace

TEST_CASE("csv: a string is a column as it is, of any length, quotes undone") {
  const TemporaryDirectory directory;
  directory.write("a.csv", "first,1,x\n\"a, \"\"b\"\"\",2,\n  kept  ,3,zw\xc3\xb6lf\n,4,\xff\n");
  const DatasetContext context{.directory = directory.path()};
  const std::string fields = R"("fields": {"s": {"columns": 0, "dtype": "string"}, "n": {"columns": 1, "dtype": "s32"},
                                           "t": {"columns": 2, "dtype": "string"}})";
  const auto plan =
      parse_plan(nlohmann::ordered_json::parse(R"([{"csv": {"path": "a.csv", )" + fields + "}}]")).value();
  CHECK(parse_plan(to_json(plan)).value() == plan);
  const auto dataset = instantiate(plan, context).value();
  CHECK(dataset->spec() == ElementSpec{text_field("s"), {"n", tensor::DType::kS32, {}}, text_field("t")});
  const auto iterator = dataset->iterate({}).value();
  const auto text = [](const tensor::Tensor& value) {
    return std::string(reinterpret_cast<const char*>(value.data()), value.byte_size());
  };
  std::vector<std::string> texts;
  while (const auto element = iterator->next().value()) {
    texts.push_back(text((*element)[0]) + "|" + text((*element)[2]));
    CHECK((*element)[1].as<std::int32_t>()[0] == static_cast<std::int32_t>(texts.size()));
  }
  CHECK(texts == std::vector<std::string>{"first|x", "a, \"b\"|", "  kept  |zw\xc3\xb6lf", "|\xff"});
}

TEST_CASE("csv: what a string can't be is said") {
  const auto refused = [](const char* field) {
    const auto plan = parse_plan(
        nlohmann::ordered_json::parse(std::string(R"([{"csv": {"path": "a.csv", "fields": {"s": )") + field + "}}}]"));
    return plan ? std::string() : plan.error().message;
  };
  CHECK(refused(R"({"columns": [0, 2], "dtype": "string"})") == "[0].csv.fields.s.columns: a string is one column");
  CHECK(refused(R"({"columns": 0, "dtype": "string", "shape": [3]})") ==
        "[0].csv.fields.s.shape: a string is of any length, without a shape");
  CHECK(refused(R"({"columns": 0, "dtype": "string", "shape": []})").empty());
}

TEST_CASE("csv: reads fields of one column and of several, in any order and shape") {
  const TemporaryDirectory directory;
  directory.write("d.csv", "1,2,3,4,0\n5.5,6,7,8,1\n");
  const auto dataset = dataset_of(R"([{"csv": {"path": "d.csv", "fields": {
      "label": {"columns": 4, "dtype": "s32"}, "image": {"columns": [0, 4], "shape": [2, 2]}, "pair": {"columns": [1, 3], "dtype": "u8"},
      "one": {"columns": [2, 3], "dtype": "f64"}}}}])",
                                  directory.context());
  const ElementSpec& spec = dataset->spec();
  REQUIRE(spec.size() == 4);
  CHECK(spec[0].name == "label");
  CHECK(spec[0].dtype == DType::kS32);
  CHECK(spec[0].shape.empty());
  CHECK(spec[1].shape == tensor::Shape{2, 2});
  CHECK(spec[3].shape == tensor::Shape{1});
  CHECK_FALSE(dataset->cardinality().has_value());
  auto iterator = *dataset->iterate();
  REQUIRE(iterator->next().value());
  const Element second = *iterator->next().value();
  CHECK(second[0].as<std::int32_t>()[0] == 1);
  CHECK(second[0].shape().empty());
  CHECK(numbers_of(second[1]) == Numbers{5.5, 6, 7, 8});
  CHECK(second[1].shape() == tensor::Shape{2, 2});
  CHECK(numbers_of(second[2]) == Numbers{6, 7});
  CHECK(numbers_of(second[3]) == Numbers{7});
  CHECK_FALSE(iterator->next().value());
}

TEST_CASE("csv: understands numbers as people and programs write them") {
  CHECK(Read("1\n-2.5\n+3\n 4 \n\t5\n1e2\n.5\n6.\n0x\n").message == "d.csv:9: column 0: '0x' is not a number");
  CHECK(Read("1\n-2.5\n+3\n 4 \n\t5\n1e2\n.5\n6.\n").flat() == Numbers{1, -2.5, 3, 4, 5, 100, 0.5, 6});
  CHECK(Read("3.0\n4.000000000000000000e+00\n-5\n+6\n", "0", "s32").flat() == Numbers{3, 4, -5, 6});
  CHECK(Read("true\nFALSE\n1\n0\n1.0\n", "0", "bool").flat() == Numbers{1, 0, 1, 0, 1});
  CHECK(Read("0.1\n1e-50\n1e-400\n").flat() == Numbers{static_cast<double>(0.1F), 0, 0});
  CHECK(Read("1.5\n0.1\n", "0", "bf16").flat() == Numbers{1.5, 0.10009765625});
  CHECK(Read("65504\n", "0", "f16").flat() == Numbers{65504});
  CHECK(Read("-128\n127\n", "0", "s8").flat() == Numbers{-128, 127});
  CHECK(Read("18446744073709551615\n", "0", "u64").flat() == Numbers{18446744073709551615.0});
  const Read special("NaN\nnan\ninf\n-Infinity\n");
  REQUIRE(special.flat().size() == 4);
  CHECK(std::isnan(special.flat()[0]));
  CHECK(std::isnan(special.flat()[1]));
  CHECK(special.flat()[2] == INFINITY);
  CHECK(special.flat()[3] == -INFINITY);
}

TEST_CASE("csv: names line and column of what isn't a number, or doesn't fit") {
  CHECK(Read("1,a\n2,b\n").flat() == Numbers{1, 2});  // columns that nobody asked for may be anything
  CHECK(Read("1,2\n3,x y\n", "[0, 2]").message == "d.csv:2: column 1: 'x y' is not a number");
  CHECK(Read("a,b\n1,2\n").message ==
        "d.csv:1: column 0: 'a' is not a number (if this line is a header, set \"header\": true)");
  CHECK(Read("1\n1.5\n", "0", "s32").message == "d.csv:2: column 0: '1.5' is not a whole number");
  CHECK(Read("NaN\n", "0", "s32").message.find("'NaN' does not fit s32") != std::string::npos);
  CHECK(Read("1\n300\n", "0", "u8").message == "d.csv:2: column 0: '300' does not fit u8");
  CHECK(Read("1\n-1\n", "0", "u8").message == "d.csv:2: column 0: '-1' does not fit u8");
  CHECK(Read("1\n1e30\n", "0", "s64").message == "d.csv:2: column 0: '1e30' does not fit s64");
  CHECK(Read("1\n9223372036854775808\n", "0", "s64").message ==
        "d.csv:2: column 0: '9223372036854775808' does not fit s64");
  CHECK(Read("1\n2\n", "0", "bool").message == "d.csv:2: column 0: '2' does not fit bool");
  CHECK(Read("1\n1e39\n").message == "d.csv:2: column 0: '1e39' does not fit f32");
  CHECK(Read("1\n1e400\n", "0", "f64").message == "d.csv:2: column 0: '1e400' does not fit f64");
  CHECK(Read("1\n65536\n", "0", "f16").message == "d.csv:2: column 0: '65536' does not fit f16");
  CHECK(Read("1,2\n,2\n").message == "d.csv:2: column 0 is empty");
  CHECK(Read("1,2\n1,\n", "1").message == "d.csv:2: column 1 is empty");
  CHECK(Read("1\n1\x1b[31m\n").message == "d.csv:2: column 0: '1?[31m' is not a number");
  CHECK(Read("1\n" + std::string(1000, 'x') + "\n").message ==
        "d.csv:2: column 0: '" + std::string(40, 'x') + "…' is not a number");
}

TEST_CASE("csv: rows before the bad one are delivered") {
  const Read read("1\n2\nx\n4\n");
  CHECK(read.drained.flat() == Numbers{1, 2});
  CHECK(read.message == "d.csv:3: column 0: 'x' is not a number");
}

TEST_CASE("csv: refuses short and long rows, and files with too few columns") {
  CHECK(Read("1,2,3\n4,5\n").message == "d.csv:2: 2 columns instead of 3");
  CHECK(Read("1,2,3\n4,5,6,7\n").message == "d.csv:2: 4 columns instead of 3");
  CHECK(Read("1,2,3\nx\n").message == "d.csv:2: 1 column instead of 3");
  CHECK(Read("1,2,3\n", "[0, 5]").message == "d.csv:1: 3 columns, but the fields need 5");
  CHECK(Read("1,2,3,\n", "3").message.starts_with("d.csv:1: column 3 is empty"));
}

TEST_CASE("csv: takes CRLF, blank lines, a byte order mark and a last line without an end") {
  CHECK(Read("1,2\r\n3,4\r\n", "1").flat() == Numbers{2, 4});
  CHECK(Read("\xEF\xBB\xBF"
             "1\n\n  \n2")
            .flat() == Numbers{1, 2});
  CHECK(Read("\xEF\xBB\xBFx\r\n1\r\n2", "0", "f32", R"(, "header": true)").flat() == Numbers{1, 2});
}

TEST_CASE("csv: takes headers, other delimiters and quotes") {
  CHECK(Read("a,b\n1,2\n3,4\n", "1", "f32", R"(, "header": true)").flat() == Numbers{2, 4});
  CHECK(Read("1;2\n3;4\n", "1", "f32", R"(, "delimiter": ";")").flat() == Numbers{2, 4});
  CHECK(Read("1\t 2\n3\t4 \n", "1", "f32", R"(, "delimiter": "\t")").flat() == Numbers{2, 4});
  CHECK(Read("1\t2\n3\t\n", "1", "f32", R"(, "delimiter": "\t")").message == "d.csv:2: column 1 is empty");
  CHECK(Read("\"a, \"\"b\"\"\",2\n\"c\",\"4\"\nd,5\n", "1").flat() == Numbers{2, 4, 5});
  CHECK(Read("1,2\n\"1,2\n", "1").message ==
        "d.csv:2: a quote is not closed (if quotes are text here, set \"quoting\": \"none\")");
  CHECK(Read("1,2\n\"1\",2,3\n", "1").message == "d.csv:2: 3 columns instead of 2");
  CHECK(Read("1,2\n1,\"x\"\n", "1").message == "d.csv:2: column 1: 'x' is not a number");
}

TEST_CASE("csv: a row that is wrong is left out with skip, be it the first of its file or another one") {
  const auto rows = [](const std::string& text, const std::string& more = "") {
    int skipped = 0;
    const TemporaryDirectory directory;
    directory.write("d.csv", text);
    auto context = directory.context();
    context.skipped = [&](const Error&) { ++skipped; };
    const Drained drained = drain(dataset_of(
        R"([{"csv": {"path": "d.csv", "on_error": "skip", "fields": {"x": {"columns": [0, 2]}})" + more + "}}]",
        context));
    CHECK_FALSE(drained.error);
    return fmt::format("{}, {} skipped", fmt::join(drained.flat(), " "), skipped);
  };
  CHECK(rows("1\n1,2\n3,4\n") == "1 2 3 4, 1 skipped");
  CHECK(rows("# shard 1 of exporter 3\n3,1\n4,1\n5,1\n6,1\n") == "3 1 4 1 5 1 6 1, 1 skipped");
  CHECK(rows("x\n1,2\n") == "1 2, 1 skipped");
  CHECK(rows("a title, in words, of the file\n1,2\n3,4\n") == "1 2 3 4, 1 skipped");
  CHECK(rows("1,2,9\n3,4\n5,6\n") == "3 4 5 6, 1 skipped");
  CHECK(rows("1,2,\n3,4\n5,6\n") == "3 4 5 6, 1 skipped");
  CHECK(rows("1;2\n3,4\n") == "3 4, 1 skipped");
  CHECK(rows("\"open\n1,2\n3,4") == "1 2 3 4, 1 skipped");
  CHECK(rows("\"one\ntwo\",\"open\n1,2\n3,4\n") == "1 2 3 4, 1 skipped");
  CHECK(rows("x\ny\n") == ", 2 skipped");
  CHECK(rows("1,2\nx\n3,4\n1,2,3\n") == "1 2 3 4, 2 skipped");
  const std::string header = R"(, "header": true)";
  CHECK(rows("# made by x\nx,y\n1,2\n", header) == "1 2, 1 skipped");
  CHECK(rows("# made by x\n\nx,y\n1,2\n", header) == "1 2, 1 skipped");
  CHECK(rows("x,y\n1,2\n", header) == "1 2, 0 skipped");
  CHECK(rows("x,y\n", header) == ", 0 skipped");
  CHECK(rows("x\n", header) == ", 1 skipped");
  // The columns are those that most of the first rows have, also where these are many.
  std::string long_file = "1,2,9\n1,2,9\n1,2,9\n";
  for (int i = 0; i < 200; ++i) long_file += "1,2\n";
  CHECK(rows(long_file).ends_with(", 3 skipped"));
}

TEST_CASE("csv: without skip a first row that is wrong ends the pass, with its place") {
  CHECK(Read("# made by x\n1,2\n", "1").message == "d.csv:1: 1 column, but the fields need 2");
  CHECK(Read("\"open\n1,2\n", "1").message.starts_with("d.csv:1: a quote is not closed"));
  CHECK(Read("\n# made by x\nx,y\n1,2\n", "1", "f32", R"(, "header": true)").message ==
        "d.csv:2: 1 column, but the fields need 2");
}

TEST_CASE("csv: a row whose quotes hold line breaks is one row, and one error") {
  CHECK(Read("7,\"see\n8, or 9\"\n1,plain\n").flat() == Numbers{7, 1});
  CHECK(Read("1,x\nx,\"see\r\n8\"\n2,x\n").message ==
        "d.csv:2: column 0: 'x' is not a number (the row's quotes go on to line 3)");
  CHECK(Read("1,x\nx,\"see\n8\"\n2,x\ny,x\n", "0", "f32", R"(, "on_error": "skip")").flat() == Numbers{1, 2});
}

TEST_CASE("csv: with \"quoting\": \"none\" quotes are text") {
  const std::string none = R"(, "quoting": "none")";
  CHECK(Read("\"open,1\n5\" nail,2\n", "1", "f32", none).flat() == Numbers{1, 2});
  CHECK(Read("\"1\"\n", "0", "f32", none).message.starts_with("d.csv:1: column 0: '\"1\"' is not a number"));
  CHECK(error_of(R"([{"csv": {"path": "d", "quoting": "all", "fields": {"x": {"columns": 0}}}}])").message ==
        R"([0].csv.quoting: must be "minimal" or "none", not "all")");
}

TEST_CASE("csv: a row of empty columns isn't blank where blanks are the delimiter") {
  CHECK(Read("1\t2\n\t\n", "1", "f32", R"(, "delimiter": "\t")").message == "d.csv:2: column 1 is empty");
}

TEST_CASE("csv: columns are named by the header, in whatever order each file has them") {
  const TemporaryDirectory directory;
  directory.write("a.csv", "x, y,\"z\"\n1,2,3\n");
  directory.write("b.csv", "z,y,x\n6,5,4\n");
  const auto values = [&](const std::string& columns) {
    return values_of(R"([{"csv": {"path": "*.csv", "header": true, "fields": {"f": {"columns": )" + columns + "}}}}]",
                     directory.context());
  };
  CHECK(values(R"("x")") == Numbers{1, 4});
  CHECK(values(R"(["y", "z"])") == Numbers{2, 3, 5, 6});
  CHECK(values(R"(["z", "z"])") == Numbers{3, 3, 6, 6});
  CHECK(values("[0, 2]") == Numbers{1, 2, 6, 5});
}

TEST_CASE("csv: a name that isn't a column's is an error with the nearest one and those that are there") {
  const std::string header = R"(, "header": true)";
  CHECK(Read("alpha,beta\n1,2\n", R"("betta")", "f32", header).message ==
        "d.csv:1: no column 'betta', did you mean 'beta'? (there: alpha and beta)");
  CHECK(Read("a,a\n1,2\n", R"("a")", "f32", header).message == "d.csv:1: 2 columns are named 'a'");
  CHECK(Read("# by x\na,b\n1,2\n", R"("b")", "f32", header + R"(, "on_error": "skip")").flat() == Numbers{2});
  CHECK(Read("5,6\na,b\n1,2\n", R"("b")", "f32", header + R"(, "on_error": "skip")").flat() == Numbers{2});
  CHECK(error_of(R"([{"csv": {"path": "d", "fields": {"x": {"columns": "a"}}}}])").message ==
        R"([0].csv.fields.x.columns: a name needs "header": true, or the "names" of all columns)");
}

TEST_CASE("csv: \"names\" name the columns of a file without a header, or with another one") {
  const std::string names = R"(, "names": ["a", "b"])";
  CHECK(Read("1,2\n3,4\n", R"("b")", "f32", names).flat() == Numbers{2, 4});
  CHECK(Read("u,v\n3,4\n", R"("b")", "f32", names + R"(, "header": true)").flat() == Numbers{4});
  CHECK(Read("1,2,3\n", R"("b")", "f32", names).message.starts_with("d.csv:1: 3 columns instead of 2"));
  CHECK(error_of(R"([{"csv": {"path": "d", "names": ["a"], "fields": {"x": {"columns": "b"}}}}])")
            .message.starts_with("[0].csv.fields.x.columns: no column 'b'"));
  const auto plan = parse_plan(nlohmann::ordered_json::parse(
      R"([{"csv": {"path": "d", "names": ["a", "b"], "quoting": "none", "fields": {"x": {"columns": "b"},
          "s": {"columns": "a", "dtype": "string"}, "y": {"columns": ["a", "b"], "shape": [1, 2]}}}}])"));
  REQUIRE(plan);
  CHECK(parse_plan(to_json(*plan)).value() == *plan);
}

TEST_CASE("csv: a field with a vocabulary holds the positions of words") {
  const auto read = [](const std::string& more, const std::string& text = "1,Rome\n2, Oslo \n3,\"Rome\"\n4,Lima\n") {
    return Read(text, R"(1, "vocabulary": ["Rome", "Oslo"])" + more, "s32");
  };
  CHECK(read("").message == "d.csv:4: column 1: 'Lima' is not in the vocabulary");
  CHECK(read("", "1,Rom\n")
            .message.starts_with("d.csv:1: column 1: 'Rom' is not in the vocabulary, did you mean 'Rome'?"));
  CHECK(read(", \"unknown\": 7").flat() == Numbers{0, 1, 0, 7});
  const auto field = [](const std::string& more) {
    const auto plan = parse_plan(
        nlohmann::ordered_json::parse(R"([{"csv": {"path": "d", "fields": {"x": {"columns": 0, )" + more + "}}}}]"));
    return plan ? format_field(instantiate(*plan, {.look_at_files = false}).value()->spec()[0]) : plan.error().message;
  };
  const std::string at = "[0].csv.fields.x.";
  CHECK(field(R"("vocabulary": ["a"])") == "s32[]");
  CHECK(field(R"("vocabulary": ["a"], "dtype": "u8")") == "u8[]");
  CHECK(field(R"("vocabulary": ["a"], "dtype": "f32")") ==
        at + "dtype: must be an integer, as the positions of words are");
  CHECK(field(R"("vocabulary": ["a", "b", "a"])") == at + "vocabulary: has 'a' twice");
  CHECK(field(R"("vocabulary": [])") == at + "vocabulary: must be a list of words");
  CHECK(field(R"("vocabulary": ["a"], "unknown": -1, "dtype": "u8")") ==
        at + "dtype: u8 does not hold the positions of all words");
  CHECK(field(R"("unknown": 1)") == at + "unknown: is for a field with a \"vocabulary\"");
  const auto plan = parse_plan(nlohmann::ordered_json::parse(
      R"([{"csv": {"path": "d", "fields": {"x": {"columns": 0, "vocabulary": ["a", "b"], "unknown": 2}}}}])"));
  REQUIRE(plan);
  CHECK(parse_plan(to_json(*plan)).value() == *plan);
}

TEST_CASE("csv: a column may be a number, a text and a word at the same time") {
  const TemporaryDirectory directory;
  directory.write("d.csv", "7,1\n8,2\n");
  const auto dataset = dataset_of(R"([{"csv": {"path": "d.csv", "fields": {"n": {"columns": 0},
      "w": {"columns": 0, "vocabulary": ["8", "7"]}, "t": {"columns": 0, "dtype": "string"}}}}])",
                                  directory.context());
  const auto iterator = dataset->iterate().value();
  const Element first = **iterator->next();
  CHECK(numbers_of(first[0]) == Numbers{7});
  CHECK(numbers_of(first[1]) == Numbers{1});
  CHECK(numbers_of(first[2]) == Numbers{'7'});
}

TEST_CASE("csv: whole numbers are exact however they are written") {
  CHECK(Read("2.0\n2e0\n20e-1\n-0\n", "0", "s32").flat() == Numbers{2, 2, 2, 0});
  CHECK(Read("9007199254740993.0\n", "0", "s64").drained.elements.size() == 1);
  CHECK(Read("18446744073709551615.0\n1.8446744073709551615e19\n", "0", "u64").drained.elements.size() == 2);
  CHECK(Read("1\n2.0000000000000000001\n", "0", "s32").message.find("is not a whole number") != std::string::npos);
}

TEST_CASE("csv: an empty file is an error, a header alone is no rows") {
  CHECK(Read("").message == "d.csv is empty");
  CHECK(Read("\n\n").message == "d.csv is empty");
  CHECK(Read("x\n", "0", "f32", R"(, "header": true)").flat().empty());
}

TEST_CASE("csv: a missing file, a directory and a file that may not be read are errors that name it") {
  const TemporaryDirectory directory;
  Error error = error_of(one_field("nope.csv"), directory.context());
  CHECK(error.code == Code::kNotFound);
  CHECK(error.message ==
        fmt::format("[0].csv.path: cannot open {}/nope.csv: no such file or directory", directory.path()));
  CHECK(error_of(one_field("."), directory.context()).message ==
        fmt::format("[0].csv.path: cannot read {0}/.: a directory; all of its files are {0}/./*", directory.path()));
  // Not looked at: found missing only when it is read.
  auto context = directory.context();
  context.look_at_files = false;
  const auto iterator = dataset_of(one_field("nope.csv"), context)->iterate();
  REQUIRE_FALSE(iterator);
  CHECK(iterator.error().code == Code::kNotFound);
}

TEST_CASE("csv: a file that isn't here is left to who reads it, where somebody wants to know") {
  const TemporaryDirectory directory;
  auto context = directory.context();
  std::vector<std::string> missing;
  context.missing_file = [&](const std::string& path, const std::string& file) {
    missing.push_back(path + ": " + file);
  };
  const auto dataset = dataset_of(one_field("nope.csv"), context);
  CHECK(missing == std::vector<std::string>{fmt::format("[0].csv.path: {}/nope.csv", directory.path())});
  directory.write("nope.csv", "7\n");  // whoever has it reads it
  CHECK(dataset->iterate());
  missing.clear();
  CHECK(values_of(one_field("nope.csv"), context) == Numbers{7});
  CHECK(missing.empty());
  CHECK_FALSE(error_of(one_field("."), context).message.empty());  // exists, but is no file
}

TEST_CASE("csv: reads gzip whatever the name, and says when it is cut off or corrupt") {
  const TemporaryDirectory directory;
  std::string text;
  Numbers expected;
  for (int i = 0; i < 50000; ++i) {
    text += std::to_string(i * 7 % 10007) + "\n";
    expected.push_back(i * 7 % 10007);
  }
  const std::string packed = gzipped(text);
  directory.write("a.csv.gz", packed);
  directory.write("b.csv", packed);
  directory.write("c.csv.gz", text);
  for (const char* name : {"a.csv.gz", "b.csv", "c.csv.gz"})
    CHECK(values_of(one_field(name), directory.context()) == expected);

  for (const std::size_t size :
       {packed.size() - 1, packed.size() - 9, packed.size() / 2, std::size_t{20}, std::size_t{5}}) {
    CAPTURE(size);
    directory.write("cut.csv.gz", packed.substr(0, size));
    const Drained drained = drain(dataset_of(one_field("cut.csv.gz"), directory.context()));
    REQUIRE(drained.error);
    CHECK(drained.error->code == Code::kDataLoss);
    CHECK(drained.error->message.find("cut.csv.gz is cut off after line ") != std::string::npos);
    // Whatever came before is right: no number was cut short.
    const Numbers got = drained.flat();
    CHECK(std::equal(got.begin(), got.end(), expected.begin()));
  }
  std::string broken = packed;
  broken[broken.size() - 6] ^= 0x55;  // the checksum
  directory.write("broken.csv.gz", broken);
  const Drained drained = drain(dataset_of(one_field("broken.csv.gz"), directory.context()));
  REQUIRE(drained.error);
  CHECK(drained.error->code == Code::kDataLoss);
  CHECK(drained.error->message.find("broken.csv.gz is corrupt after line ") != std::string::npos);
}

TEST_CASE("csv: the members of a gzip file are one after the other, and what follows them is an error but for zeros") {
  const TemporaryDirectory directory;
  const auto values = [&](const std::string& bytes) {
    directory.write("a.csv.gz", bytes);
    return values_of(one_field("a.csv.gz"), directory.context());
  };
  CHECK(values(gzipped("1\n2\n") + gzipped("") + gzipped("3\n4")) == Numbers{1, 2, 3, 4});
  CHECK(values(gzipped("1\n2\n") + std::string(600, '\0')) == Numbers{1, 2});
  for (const char* more : {"more, and no member", "\x1f"}) {
    directory.write("a.csv.gz", gzipped("1\n2\n") + more);
    const auto drained = drain(dataset_of(one_field("a.csv.gz"), directory.context()));
    CHECK(drained.flat() == Numbers{1, 2});
    REQUIRE(drained.error);
    CHECK(drained.error->code == Code::kDataLoss);
    CHECK(drained.error->message.ends_with("a.csv.gz is corrupt after line 2: the bytes after it are not gzip"));
  }
  // A member ends wherever a piece of the file does.
  std::string many;
  Numbers expected;
  for (int i = 0; i < 30000; ++i) {
    many += gzipped(std::to_string(i) + "\n");
    expected.push_back(i);
  }
  CHECK(values(many) == expected);
}

TEST_CASE("csv: a file of many blocks comes the same from the file and from memory, and is read anew when it changes") {
  const TemporaryDirectory directory;
  std::string text;
  for (int i = 0; i < 200000; ++i) text += std::to_string(i) + "," + std::to_string(i % 10) + "\n";
  const std::string path = directory.write("d.csv", text);
  const CsvSource csv{path, {{{"x", DType::kS64, {}}, 0}, {{"y", DType::kU8, {}}, 1}}, false, ','};
  for (const std::size_t cache : {std::size_t{0}, std::size_t{1} << 30}) {
    const auto dataset = make_csv(csv, {.files = path, .cache_bytes = cache});
    for (int pass = 0; pass < 2; ++pass) {
      const Numbers values = drain(dataset).flat();
      REQUIRE(values.size() == 200000);
      bool in_order = true;
      for (std::size_t i = 0; i < values.size(); ++i) in_order = in_order && values[i] == static_cast<double>(i);
      CHECK(in_order);
    }
    // Two iterators at once, one from before the first pass was over.
    auto first = *dataset->iterate();
    auto second = *dataset->iterate();
    for (int i = 0; i < 10; ++i)
      CHECK((*first->next().value())[0].as<std::int64_t>()[0] == (*second->next().value())[0].as<std::int64_t>()[0]);
  }
  const auto dataset = make_csv(csv, {.files = path, .cache_bytes = std::size_t{1} << 30});
  CHECK(drain(dataset).elements.size() == 200000);
  directory.write("d.csv", "7,8\n");
  CHECK(drain(dataset).flat() == Numbers{7});
}

TEST_CASE("csv: a very long line is read whole") {
  std::string text;
  for (int i = 0; i < 200000; ++i) text += (i > 0 ? "," : "") + std::to_string(i);
  const Read read(text + "\n" + text + "\n", "[0, 200000]");
  REQUIRE(read.drained.elements.size() == 2);
  CHECK(read.drained.elements[1][199999] == 199999);
}

TEST_CASE("csv: names what is wrong with its options") {
  const auto csv = [](const std::string& body) {
    return error_of(R"([{"csv": )" + body + "}]", {.look_at_files = false}).message;
  };
  CHECK(csv(R"({"path": "x.csv"})") == "[0].csv.fields: is missing");
  CHECK(csv(R"({"path": "x.csv", "feilds": {}})") == "[0].csv.feilds: unknown key, did you mean 'fields'?");
  CHECK(csv(R"({"path": "x.csv", "fields": {}})") == "[0].csv.fields: must be an object with at least one field");
  CHECK(csv(R"({"path": "", "fields": {"x": {"columns": 0}}})") == "[0].csv.path: must not be empty");
  CHECK(csv(R"({"path": 3, "fields": {"x": {"columns": 0}}})") == "[0].csv.path: must be a string, not a number");
  CHECK(csv(R"({"path": "x", "fields": {"x": {}}})") == "[0].csv.fields.x.columns: is missing");
  CHECK(csv(R"({"path": "x", "fields": {"x": {"columns": [3, 3]}}})") ==
        "[0].csv.fields.x.columns: there are no columns [3, 3]");
  CHECK(csv(R"({"path": "x", "fields": {"x": {"columns": -1}}})") ==
        "[0].csv.fields.x.columns: there are no columns [-1, 0]");
  for (const char* columns : {"true", "\"\"", "[]", "[0, \"a\"]", "[1, 2, 3]", "{}"})
    CHECK(csv(fmt::format(R"({{"path": "x", "fields": {{"x": {{"columns": {}}}}}}})", columns))
              .starts_with("[0].csv.fields.x.columns: must be a column number, [FIRST, END]"));
  CHECK(csv(R"({"path": "x", "fields": {"x": {"columns": 9223372036854775807}}})")
            .starts_with("[0].csv.fields.x.columns: "));
  CHECK(csv(R"({"path": "x", "fields": {"x": {"columns": [0, 4], "shape": [2, 3]}}})") ==
        "[0].csv.fields.x.shape: [2, 3] has 6 elements, but there are 4 columns");
  CHECK(csv(R"({"path": "x", "fields": {"x": {"columns": [0, 4], "shape": [4611686018427387904, 4]}}})") ==
        "[0].csv.fields.x.shape: a tensor of shape [4611686018427387904, 4] is too large");
  CHECK(
      csv(R"({"path": "x", "fields": {"x": {"columns": 0, "dtype": "f23"}}})").starts_with("[0].csv.fields.x.dtype: "));
  CHECK(csv(R"({"path": "x", "fields": {"x": {"columns": 0}}, "delimiter": "ab"})") ==
        "[0].csv.delimiter: must be a single character that can't be part of a number");
  CHECK(csv(R"({"path": "x", "fields": {"x": {"columns": 0}}, "header": 1})") ==
        "[0].csv.header: must be true or false, not a number");
  CHECK(csv("3") == "[0].csv: must be an object, not a number");
}
