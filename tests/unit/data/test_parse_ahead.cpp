// SPDX-License-Identifier: Apache-2.0
//
// Rows of files, parsed ahead: the same with any number of threads, and pieces of any size.
#include "kit.hpp"
#include "tfd/data/tfrecord.hpp"

using namespace tfd;
using namespace tfd::data;

namespace {

// A pass over a source: its rows, its skipped errors, how it ends.
struct Pass {
  std::vector<Numbers> elements;
  std::vector<std::string> skipped;
  std::string error;
  friend bool operator==(const Pass&, const Pass&) = default;
};

Pass pass_of(const std::string& pipeline, DatasetContext context, Parsing parsing) {
  Pass pass;
  context.parsing = parsing;
  context.skipped = [&](const Error& error) { pass.skipped.push_back(error.message); };
  const Drained all = drain(dataset_of(pipeline, context));
  pass.elements = all.elements;
  if (all.error) pass.error = all.error->message;
  return pass;
}

// The same however it is parsed; what that is.
Pass same_pass(const std::string& pipeline, const DatasetContext& context) {
  const Pass expected = pass_of(pipeline, context, {.threads = 0});
  for (const std::size_t threads : {0, 1, 2, 5})
    for (const std::size_t piece : {1, 13, 100, 1000, 1 << 19})
      for (const std::size_t ahead : {1, 1 << 12, 1 << 20}) {
        CAPTURE(threads);
        CAPTURE(piece);
        CAPTURE(ahead);
        CHECK(pass_of(pipeline, context, {threads, piece, ahead}) == expected);
      }
  return expected;
}

std::string numbers(int first, int count) {
  std::string lines;
  for (int i = first; i < first + count; ++i) lines += fmt::format("{}{}\n", i, i % 10 == 0 ? "\r" : "");
  return lines;
}

// Every file of csv, jsonl and text that has numbers in it is one of all three.
std::string source_of(const std::string& kind, const std::string& path, const std::string& more = "") {
  const std::string fields = kind == "csv" ? R"(, "fields": {"x": {"columns": 0, "dtype": "s32"}})" : "";
  return fmt::format(R"([{{"{}": {{"path": "{}"{}{}}}}}])", kind, path, fields, more);
}

}  // namespace

TEST_CASE("parse ahead: rows come in the order of files and lines") {
  const TemporaryDirectory directory;
  directory.write("a1.csv", numbers(0, 300));
  directory.write("a2.csv.gz", gzipped("\xEF\xBB\xBF" + numbers(300, 500)));
  directory.write("a3.csv", "");
  directory.write("a4.csv", "\n  \n800\n\n801");
  const Pass csv = same_pass(source_of("csv", "a*"), directory.context());
  REQUIRE(csv.elements.size() == 802);
  for (std::size_t i = 0; i < csv.elements.size(); ++i) CHECK(csv.elements[i] == Numbers{static_cast<double>(i)});
  CHECK(same_pass(source_of("text", "a*"), directory.context()).elements.size() == 805);
  std::string records, lines;
  for (int i = 0; i < 400; ++i) {
    append_record(records, std::string(static_cast<std::size_t>(i % 50), 'x'));
    lines += fmt::format("{{\"x\": {}}}\n", i);
  }
  directory.write("a.tfrecord", records);
  directory.write("a.jsonl", lines);
  CHECK(same_pass(source_of("tfrecord", "a.tfrecord"), directory.context()).elements.size() == 400);
  CHECK(same_pass(R"([{"jsonl": {"path": "a.jsonl", "fields": {"x": {}}}}])", directory.context()).elements.size() ==
        400);
}

TEST_CASE("parse ahead: errors come behind the rows before them, with file and line, or are passed over in order") {
  const TemporaryDirectory directory;
  directory.write("a1.csv", numbers(0, 100) + "x\n" + numbers(100, 100) + "1,2\n" + numbers(200, 50));
  directory.write("a2.csv", gzipped(numbers(250, 4000)).substr(0, 3000));
  directory.write("a3.csv", "\n,\n");  // of another number of columns
  directory.write("a4.csv", "7\n");
  const auto context = directory.context();
  const Pass failed = same_pass(source_of("csv", "a*"), context);
  CHECK(failed.elements.size() == 100);
  CHECK(failed.error == directory / "a1.csv:101: column 0: 'x' is not a number");
  const Pass skipped = same_pass(source_of("csv", "a*", R"(, "on_error": "skip")"), context);
  CHECK(skipped.error.empty());
  CHECK(skipped.elements.back() == Numbers{7});
  REQUIRE(skipped.skipped.size() == 4);
  CHECK(skipped.skipped[0] == failed.error);
  CHECK(skipped.skipped[1] == directory / "a1.csv:202: 2 columns instead of 1");
  const std::size_t before = skipped.elements.size() - 250 - 1;  // lines of a2 before it ends
  CHECK(skipped.skipped[2] == fmt::format("{} is cut off after line {}", directory / "a2.csv", before));
  CHECK(skipped.skipped[3] == directory / "a3.csv:2: column 0 is empty");
}

TEST_CASE("parse ahead: a reader that goes away in the middle ends the threads, and a pass that failed stays failed") {
  const TemporaryDirectory directory;
  directory.write("a.csv", numbers(0, 20000) + "x\n");
  auto context = directory.context();
  for (const std::size_t threads : {1, 4}) {
    context.parsing = {.threads = threads, .piece_bytes = 64, .ahead_bytes = 1 << 12};
    const auto dataset = dataset_of(source_of("csv", "a.csv"), context);
    for (const std::int64_t taken : {0, 1, 30, 5000}) {
      const auto iterator = dataset->iterate().value();
      CHECK(iterator->skip(taken).value() == taken);
      CHECK(numbers_of((*iterator->next().value())[0]) == Numbers{static_cast<double>(taken)});
    }
    const auto iterator = dataset->iterate().value();
    for (int i = 0; i < 3; ++i)
      CHECK(iterator->skip(30000).error().message == directory / "a.csv:20001: column 0: 'x' is not a number");
  }
}
