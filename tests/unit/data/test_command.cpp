// SPDX-License-Identifier: Apache-2.0
//
// Records that a command prints.
#include <csignal>
#include <fstream>
#include <nlohmann/json.hpp>
#include <thread>

#include "kit.hpp"
#include "tfd/command/command.hpp"
#include "tfd/data/tfrecord.hpp"

using namespace tfd;
using namespace tfd::data;

namespace {

DatasetContext running(const TemporaryDirectory& directory) {
  DatasetContext context = directory.context();
  context.commands =
      std::make_shared<const command::CommandPlace>(command::CommandPlace{directory.path(), Environment::of_process()});
  return context;
}

std::string printed_by(const std::string& script,
                       const std::string& more = R"("format": "csv", "fields": {"x": {"columns": 0}})") {
  return fmt::format(R"([{{"command": {{"argv": ["sh", "-c", {}], {}}}}}])", nlohmann::json(script).dump(), more);
}

}  // namespace

TEST_CASE("command: its output is rows, of any format, and every pass runs it anew") {
  const TemporaryDirectory directory;
  const auto context = running(directory);
  const auto dataset = dataset_of(printed_by("echo x >>runs; seq 1 30000; wc -l <runs"), context);
  CHECK_FALSE(dataset->cardinality());
  for (int pass = 1; pass <= 2; ++pass) {
    const Numbers all = drain(dataset).flat();
    REQUIRE(all.size() == 30001);
    CHECK(all[29999] == 30000);
    CHECK(all.back() == pass);
  }
  CHECK(drain(dataset_of(printed_by("echo one; printf 'two'", R"("format": "text")"), context)).elements ==
        std::vector<Numbers>{{'o', 'n', 'e'}, {'t', 'w', 'o'}});
  CHECK(values_of(printed_by(R"(echo '{"x": 3}')", R"("format": "jsonl", "fields": {"x": {}})"), context) ==
        Numbers{3});
  std::string records;
  append_record(records, "ab");
  append_record(records, "");
  directory.write("a.tfrecord", records);
  CHECK(drain(dataset_of(printed_by("cat a.tfrecord", R"("format": "tfrecord")"), context)).elements ==
        std::vector<Numbers>{{'a', 'b'}, {}});
  CHECK(values_of(
            R"([{"command": {"argv": ["seq", "5"], "format": "csv", "fields": {"x": {"columns": 0}}}}, {"skip": 3}])",
            context) == Numbers{4, 5});
}

TEST_CASE("command: one that fails is an error behind its rows, with how it ended and what it said") {
  const TemporaryDirectory directory;
  const auto context = running(directory);
  const Drained failed = drain(dataset_of(printed_by("echo 1; echo 2; printf 3; echo oh no >&2; exit 7"), context));
  CHECK(failed.flat() == Numbers{1, 2});
  CHECK(failed.error->code == Code::kFailedPrecondition);
  CHECK(failed.error->message == "command 'sh' exited with 7; stderr: oh no");
  CHECK(drain(dataset_of(printed_by("echo 1; kill -9 $$"), context)).error->message ==
        "command 'sh' died of signal 9 (killed)");
  CHECK(drain(dataset_of(printed_by("echo 1; echo x"), context)).error->message ==
        "output of 'sh':2: column 0: 'x' is not a number");
  CHECK(drain(dataset_of(printed_by("exit 0"), context)).error->message == "output of 'sh' is empty");
  const Drained none = drain(dataset_of(R"([{"command": {"argv": ["no-such-program"], "format": "text"}}])", context));
  CHECK(none.error->code == Code::kFailedPrecondition);
  CHECK(dataset_of(printed_by("echo 1"), directory.context())->iterate().error().message ==
        "output of 'sh': commands can't be run here");
}

TEST_CASE("command: one that never ends is stopped with its reader, and is read as it prints") {
  const TemporaryDirectory directory;
  const auto context = running(directory);
  for (const char* script : {"yes 5", "echo 5; sleep 1000"}) {  // one prints forever, the other falls silent
    const auto iterator = dataset_of(printed_by(fmt::format("echo $$ >pid; {}", script)), context)->iterate().value();
    CHECK(numbers_of((*iterator->next().value())[0]) == Numbers{5});
  }
  pid_t pid = 0;
  std::ifstream(directory / "pid") >> pid;
  REQUIRE(pid > 0);
  CHECK(::kill(pid, 0) != 0);
}

TEST_CASE("command: one that says nothing any more holds nobody up who has what it wants") {
  const TemporaryDirectory directory;
  auto context = running(directory);
  context.find_function = [](const std::string&, const ElementSpec& input, const auto&) -> Result<MapFunction> {
    return MapFunction{input, [](const Element& element) -> Result<Element> { return element; }};
  };
  const std::string silent = printed_by("echo 1; echo 2; sleep 1000");
  const auto behind = [&](const std::string& stages) {  // twice: between two passes, and at the end
    return values_of(silent.substr(0, silent.size() - 1) + "," + stages + R"(,{"take": 2}, {"repeat": 2}])", context);
  };
  const Numbers twice = {1, 2, 1, 2};
  CHECK(behind(R"({"prefetch": 4})") == twice);
  CHECK(behind(R"({"map": {"function": "same", "fields": ["x"], "parallel": 3}})") == twice);
  CHECK(behind(R"({"prefetch": 1}, {"map": {"function": "same", "fields": ["x"], "parallel": 2}}, {"prefetch": 8})") ==
        twice);
  CHECK(behind(R"({"shuffle": {"buffer": 1}}, {"prefetch": 3}, {"batch": 1}, {"unbatch": {}}, {"prefetch": 1})") ==
        twice);
  context.ahead = 3;
  CHECK(numbers_of((*dataset_of(silent, context)->iterate().value()->next().value())[0]) == Numbers{1});
}

TEST_CASE("command: who waits for what it prints is told that it was stopped") {
  const TemporaryDirectory directory;
  auto context = running(directory);
  const std::string silent = printed_by("echo 1; sleep 1000");
  for (const int ahead : {0, 2}) {
    context.ahead = ahead;
    std::stop_source stop;
    Order order;
    order.stop = stop.get_token();
    const auto iterator = dataset_of(silent, context)->iterate(order).value();
    CHECK(iterator->next().value().has_value());
    const std::jthread other([&] { stop.request_stop(); });
    const auto none = iterator->next();
    REQUIRE_FALSE(none.has_value());
    CHECK(none.error().code == Code::kCancelled);
    CHECK(none.error().message == "command 'sh' was stopped; it died of signal 15 (terminated)");
  }
}

TEST_CASE("command: says what is wrong with its options, and is written as it was read") {
  const auto wrong = [](const std::string& body) {
    return error_of(R"([{"command": )" + body + "}]", {.look_at_files = false}).message;
  };
  CHECK(wrong(R"({"format": "csv"})") == "[0].command.argv: is missing");
  CHECK(wrong(R"({"argv": ["x"]})") == "[0].command.format: is missing");
  CHECK(wrong(R"({"argv": "x", "format": "text"})") ==
        "[0].command.argv: must be a list of texts, the command's name and its arguments");
  CHECK(wrong(R"({"argv": ["x"], "format": "npy"})") ==
        R"([0].command.format: must be "csv", "jsonl", "text" or "tfrecord")");
  CHECK(wrong(R"({"argv": ["x"], "format": "csv"})") == "[0].command.fields: is missing");
  CHECK(wrong(R"({"argv": ["x"], "format": "text", "header": true})").starts_with("[0].command.header: unknown key"));
  CHECK(wrong(R"({"argv": ["x"], "format": "text", "path": "y"})") ==
        "[0].command.path: unknown: the command prints the records");
  const auto stated = nlohmann::ordered_json::parse(
      printed_by("x", R"("format": "jsonl", "fields": {"x": {"dtype": "s64"}}, "on_error": "skip")"));
  const Plan plan = parse_plan(stated).value();
  CHECK(to_json(plan) == stated);
  CHECK(parse_plan(to_json(plan)).value() == plan);
}
