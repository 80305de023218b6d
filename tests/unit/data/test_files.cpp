// SPDX-License-Identifier: Apache-2.0
//
// Behavior shared by all sources of files: gzip, patterns, empty files, files that change, skipped errors.
#include <filesystem>

#include "kit.hpp"
#include "sources/sources.hpp"

using namespace tfd;
using namespace tfd::data;
using nlohmann::ordered_json;

namespace {

std::string csv_of(const std::string& path, const std::string& more = "") {
  return fmt::format(R"([{{"csv": {{"path": "{}", "fields": {{"x": {{"columns": 0}}}}{}}}}}])", path, more);
}

Drained drained(const std::string& pipeline, const DatasetContext& context) {
  return drain(dataset_of(pipeline, context));
}

}  // namespace

TEST_CASE("files: a pattern is all files that match it, in the order of their names") {
  const TemporaryDirectory directory;
  directory.write("part-2.csv", "4\n5\n");
  directory.write("part-1.csv.gz", gzipped("1\n2\n3\n"));
  directory.write("part-3.csv", "");  // an empty one among others is nothing
  directory.write("other.csv", "9\n");
  std::filesystem::create_directory(directory / "part-4");
  const auto context = directory.context();
  CHECK(values_of(csv_of("part-*"), context) == Numbers{1, 2, 3, 4, 5});
  CHECK(values_of(csv_of("part-[2-9]*"), context) == Numbers{4, 5});
  CHECK(values_of(csv_of("?ther.csv"), context) == Numbers{9});
  directory.write("part-*", "7\n");  // a file of that very name
  CHECK(values_of(csv_of("part-*"), context) == Numbers{7});
}

TEST_CASE("files: every pass looks for the files, and decodes them anew when they change") {
  const TemporaryDirectory directory;
  directory.write("a1.csv", "1\n");
  const auto dataset = dataset_of(csv_of("a*.csv"), directory.context());
  CHECK(drain(dataset).flat() == Numbers{1});
  directory.write("a0.csv", "0\n");
  CHECK(drain(dataset).flat() == Numbers{0, 1});
  directory.write("a1.csv", "1\n2\n");
  CHECK(drain(dataset).flat() == Numbers{0, 1, 2});
}

TEST_CASE("files: a pattern that nothing matches, and a directory, are errors before anything is read") {
  const TemporaryDirectory directory;
  auto context = directory.context();
  const Error error = error_of(csv_of("part-*.csv"), context);
  CHECK(error.code == Code::kNotFound);
  CHECK(error.message == fmt::format("[0].csv.path: no file matches {}/part-*.csv", directory.path()));
  std::vector<std::string> missing;
  context.missing_file = [&](const std::string&, const std::string& file) { missing.push_back(file); };
  dataset_of(csv_of("part-*.csv"), context);
  CHECK(missing == std::vector<std::string>{directory / "part-*.csv"});
  directory.write("part-1.csv", "1\n");
  missing.clear();
  dataset_of(csv_of("part-*.csv"), context);
  CHECK(missing.empty());
}

TEST_CASE("files: nothing in any of them is an error") {
  const TemporaryDirectory directory;
  directory.write("a.csv", "");
  directory.write("b.csv", "\n");
  directory.write("c.csv", gzipped(""));
  const auto context = directory.context();
  CHECK(drained(csv_of("?.csv"), context).error->message ==
        fmt::format("all 3 files of {}/?.csv are empty", directory.path()));
  for (const char* pipeline :
       {R"([{"csv": {"path": "a.csv", "fields": {"x": {"columns": 0}}}}])", R"([{"text": {"path": "a.csv"}}])",
        R"([{"jsonl": {"path": "a.csv", "fields": {"x": {}}}}])", R"([{"tfrecord": {"path": "a.csv"}}])"}) {
    CAPTURE(pipeline);
    CHECK(drained(pipeline, context).error->message == directory / "a.csv is empty");
  }
  CHECK(drained(R"([{"tfrecord": {"path": "c.csv"}}])", context).error->message == directory / "c.csv is empty");
}

TEST_CASE("files: several at a time, in turns, are what an interleave of them is") {
  const TemporaryDirectory directory;
  const std::vector<int> sizes{5, 0, 1, 40, 7, 12};
  ordered_json one_by_one = ordered_json::array();
  for (std::size_t file = 0; file < sizes.size(); ++file) {
    std::string rows;
    for (int row = 0; row < sizes[file]; ++row)
      rows += fmt::format("{}\n", 1000 * file + static_cast<std::size_t>(row));
    directory.write(fmt::format("part-{}.csv", file), rows);
    one_by_one.push_back(ordered_json::parse(csv_of(fmt::format("part-{}.csv", sizes[file] > 0 ? file : 0))));
    if (sizes[file] == 0) one_by_one.back().push_back({{"take", 0}});
  }
  const auto context = directory.context();
  for (const int cycle : {2, 3, 100}) {
    for (const int block : {1, 3, 50}) {
      CAPTURE(cycle);
      CAPTURE(block);
      ordered_json interleave = one_by_one[0];
      interleave.push_back({{"interleave",
                             {{"datasets", ordered_json(one_by_one.begin() + 1, one_by_one.end())},
                              {"cycle_length", cycle},
                              {"block_length", block}}}});
      const auto together =
          csv_of("part-*.csv", fmt::format(R"(, "cycle_length": {}, "block_length": {})", cycle, block));
      const auto expected = drained(interleave.dump(), context).elements;
      REQUIRE(expected.size() == 65);
      const auto dataset = dataset_of(together, context);
      for (int pass = 0; pass < 2; ++pass) CHECK(drain(dataset).elements == expected);
      for (const std::int64_t skipped : {1, 4, 30, 64}) {
        const auto iterator = dataset->iterate().value();
        CHECK(iterator->skip(skipped).value() == skipped);
        CHECK(drain(*iterator).elements == std::vector(expected.begin() + skipped, expected.end()));
      }
    }
  }
  const std::string turns = R"(, "cycle_length": 2)";
  CHECK(dataset_of(csv_of("part-1.csv", turns), context)->iterate().error().message ==
        directory / "part-1.csv is empty");
  CHECK(drained(csv_of("part-*.csv", turns + R"(, "shard": {"count": 9, "index": 8})"), context).elements.empty());
  directory.write("part-4.csv", "1\nx\n");
  CHECK(drained(csv_of("part-*.csv", turns), context).error->message.starts_with(directory / "part-4.csv:2: "));
  CHECK(error_of(csv_of("part-*.csv", R"(, "block_length": 2)"), context).message ==
        R"([0].csv.block_length: is for files that are read in turns: "cycle_length" of them)");
}

TEST_CASE("files: one that changes while it is read is an error, whatever it holds") {
  const TemporaryDirectory directory;
  std::string rows;
  for (int i = 0; i < 100000; ++i) rows += fmt::format("{}\n", i);
  for (const char* more : {"", R"(, "on_error": "skip")"}) {
    directory.write("a.csv", rows);
    const auto iterator = dataset_of(csv_of("a.csv", more), directory.context())->iterate().value();
    REQUIRE(iterator->next().value());
    directory.write("a.csv", rows + "1\n");
    const Drained rest = drain(*iterator);
    REQUIRE(rest.error);
    CHECK(rest.error->code == Code::kDataLoss);
    CHECK(rest.error->message == directory / "a.csv has changed while it was read");
  }
  // Another file of that name is another file: the one that was opened is read to its end.
  directory.write("a.csv", rows);
  const auto iterator = dataset_of(csv_of("a.csv"), directory.context())->iterate().value();
  REQUIRE(iterator->next().value());
  directory.write("b.csv", "1\n");
  std::filesystem::rename(directory / "b.csv", directory / "a.csv");
  CHECK(drain(*iterator).elements.size() == 99999);
}

TEST_CASE("files: errors are passed over and reported where the source says so") {
  const TemporaryDirectory directory;
  std::vector<std::string> skipped;
  auto context = directory.context();
  context.skipped = [&](const Error& error) {
    skipped.push_back(error.message.substr(error.message.find_last_of('/') + 1));
  };
  directory.write("a1.csv", "1,1\n2\nx,1\n3,1,1\n4,1\n");
  directory.write("a2.csv.gz", gzipped("5\n6\n7\n").substr(0, 20));
  directory.write("a3.csv", "8\n");
  const auto dataset = dataset_of(csv_of("a*", R"(, "on_error": "skip")"), context);
  CHECK_FALSE(dataset->cardinality());
  for (int pass = 0; pass < 2; ++pass) {
    skipped.clear();
    const Drained all = drain(dataset);
    CHECK_FALSE(all.error);
    CHECK(all.flat().front() == 1);
    CHECK(all.flat().at(1) == 4);
    CHECK(all.flat().back() == 8);
    REQUIRE(skipped.size() == 4);
    CHECK(skipped[0] == "a1.csv:2: 1 column instead of 2");
    CHECK(skipped[1] == "a1.csv:3: column 0: 'x' is not a number");
    CHECK(skipped[2] == "a1.csv:4: 3 columns instead of 2");
    CHECK(skipped[3].starts_with("a2.csv.gz is cut off after line "));
  }
  // Where nobody listens, too; and where nothing is left it isn't empty.
  directory.write("bad.csv", "x\ny\n");
  CHECK(values_of(csv_of("bad.csv", R"(, "on_error": "skip")"), directory.context()).empty());
  CHECK(error_of(csv_of("bad.csv", R"(, "on_error": "go")"), context).message ==
        "[0].csv.on_error: must be \"fail\" or \"skip\", not \"go\"");
}
