// SPDX-License-Identifier: Apache-2.0
//
// Closures as JSON lines: every line has its answer, whatever is wrong with it.
#include <algorithm>
#include <future>
#include <thread>

#include "asking.hpp"
#include "closure_stream.hpp"

using namespace tfd;
using namespace tfd::bed;
using namespace tfd::coordinator;
using nlohmann::json;

TEST_CASE("closures: both examples of the API documentation") {
  Bed bed;
  Stream stream(bed);
  const auto summary = stream.run_well({
      R"({"op": "create_per_worker_dataset", "dataset": "threes"})",
      R"({"op": "schedule", "function": "next", "args": [{"per_worker": "threes"}], "id": "a"})",
      R"({"op": "fetch", "of": {"remote": "a"}, "id": "three"})",
      R"({"op": "schedule", "function": "add_and_read", "args": [1], "id": "b"})",
      R"({"op": "fetch", "of": {"remote": "b"}, "id": "one"})",
      R"({"op": "join"})",
      R"({"op": "read", "variable": "v", "id": "v"})",
  });
  CHECK(summary.lines == 7);
  CHECK(summary.failed + summary.cancelled == 0);
  CHECK(stream.answer(1) == json::parse(R"({"line": 1, "status": "ready"})"));
  CHECK(stream.answer("a") == json::parse(R"({"id": "a", "status": "ready", "value": 3})"));
  CHECK(stream.answer("three")["value"] == 3);
  CHECK(stream.answer("one")["value"] == 1);
  CHECK(stream.answer(6)["status"] == "ready");
  CHECK(stream.answer("v")["value"] == 1);
}

TEST_CASE("closures: what says that all is done follows the answers of all") {
  Bed bed;
  Stream stream(bed);
  std::vector<std::string> lines;
  for (int round = 0; round < 40; ++round) {
    for (int i = 0; i < 5; ++i) lines.push_back(schedule_line("double", i, fmt::format("{}-{}", round, i)));
    lines.push_back(R"({"op": "join"})");
  }
  stream.run_well(lines);
  std::size_t at = 0;
  for (const json& answer : stream.answers()) {
    ++at;
    if (answer.contains("line")) CHECK(answer["line"] == at);  // a join, whose line number counts all lines before it
  }
  CHECK(at == lines.size());
}

TEST_CASE("closures: the end waits for the callback of the last closure, not only for its answer") {
  for (int round = 0; round < 50; ++round) {
    Bed bed;
    Stream stream(bed);
    stream.run_well({schedule_line("double", round, "a")});
    CHECK(stream.answer("a")["value"] == 2 * round);
  }
}

TEST_CASE("closures: fetch keeps the structure and everything that isn't remote") {
  Bed bed;
  Stream stream(bed);
  stream.run_well(
      {schedule_line("double", 5, "a"), schedule_line("double", 20, "b"),
       R"({"op": "schedule", "function": "add", "args": [1], "id": "none"})",
       R"({"op": "fetch", "of": {"a": {"remote": "a"}, "b": [{"remote": "b"}, 7, 1.5], "c": "te\"xt", "d": {"remote": "none"}}, "id": "f"})",
       R"({"op": "fetch", "of": "nothing remote", "id": "g"})"});
  CHECK(stream.answer("f")["value"] == json::parse(R"({"a": 10, "b": [40, 7, 1.5], "c": "te\"xt", "d": null})"));
  CHECK(stream.answer("g")["value"] == "nothing remote");
}

TEST_CASE("closures: kwargs, several results, and integer ids") {
  Bed bed;
  Stream stream(bed);
  stream.run_well({R"({"op": "schedule", "function": "pair", "kwargs": {"a": 1, "b": 2}, "id": 7})",
                   R"({"op": "fetch", "of": {"remote": 7}, "id": "7"})"});
  CHECK(stream.answer(7)["value"] == json{2, 1});
  CHECK(stream.answer("7")["value"] == json{2, 1});
}

TEST_CASE("closures: an error is answered by its closure, cancels what waits, and is raised once") {
  Bed bed(1);
  Stream stream(bed);
  const auto summary = stream.run_well({schedule_line("fail", 9, "bad"), R"({"op": "join", "id": "first"})",
                                        R"({"op": "join", "id": "second"})", schedule_line("double", 4, "after")});
  CHECK(stream.answer("bad")["status"] == "error");
  CHECK(stream.answer("bad")["error"]["code"] == "INVALID_ARGUMENT");
  CHECK(stream.answer("bad")["error"]["task"] == "worker:0");
  CHECK(stream.answer("first")["status"] == "raised");
  CHECK(stream.answer("second")["status"] == "ready");
  CHECK(stream.answer("after")["value"] == 8);
  CHECK(summary.failed == 1);  // what a join raises is not another failure
}

TEST_CASE("closures: what an error cancels says because of whom, and the raising schedule is cancelled with it") {
  Bed bed(1);
  Stream stream(bed);
  bed.gate.close();
  auto opened = std::async(std::launch::async, [&] {
    bed.gate.wait_for(1);
    while (stream.coordinator->queued() + stream.coordinator->in_flight() < 40) std::this_thread::yield();
    bed.gate.open();
  });
  std::vector<std::string> lines{schedule_line("gated", 1, "gated"), schedule_line("fail", 1, "bad")};
  for (int i = 0; i < 38; ++i) lines.push_back(schedule_line("add", 1, "x" + std::to_string(i)));
  lines.push_back(R"({"op": "done", "id": "done"})");
  const auto summary = stream.run_well(lines);
  opened.get();
  CHECK(stream.answer("bad")["status"] == "error");
  int cancelled = 0;
  for (const json& one : stream.answers())
    if (one["status"] == "cancelled") {
      ++cancelled;
      CHECK(one["because"] == "bad");
    }
  CHECK(cancelled > 0);
  CHECK(summary.cancelled == static_cast<std::uint64_t>(cancelled));
  CHECK(stream.answers().size() == lines.size());
}

TEST_CASE("closures: a schedule that raises is answered so, and its function isn't run") {
  Bed bed(1);
  Stream stream(bed);
  std::deque<std::string> lines{schedule_line("fail", 1, "bad"), schedule_line("add", 5, "raises"),
                                R"({"op": "done", "id": "clean"})", R"({"op": "read", "variable": "v", "id": "v"})"};
  const auto read = [&](Deadline) -> Result<std::optional<std::string>> {
    if (lines.empty()) return std::nullopt;
    if (lines.size() == 3)  // the first one's error has come
      until([&] {
        const std::scoped_lock lock(stream.mutex);
        return stream.written.find(R"("id":"bad")") != std::string::npos;
      });
    std::string line = std::move(lines.front());
    lines.pop_front();
    return line;
  };
  const auto write = [&](std::string_view text) -> Result<void> {
    const std::scoped_lock lock(stream.mutex);
    stream.written.append(text);
    return {};
  };
  good(run_closures(*stream.coordinator, stream.program, read, write, stream.options));
  CHECK(stream.answer("raises")["status"] == "raised");
  CHECK(stream.answer("raises")["error"]["code"] == "INVALID_ARGUMENT");
  CHECK(stream.answer("clean")["value"] == true);
  CHECK(stream.answer("v")["value"] == 0);
}

TEST_CASE("closures: done tells whether all has ended, a fetch and a join wait until it has") {
  Bed bed(1);
  Stream stream(bed);
  bed.gate.close();
  const auto has = [&](const std::string& text) {
    const std::scoped_lock lock(stream.mutex);
    return stream.written.find(text) != std::string::npos;
  };
  bool is_early = false;
  auto opened = std::async(std::launch::async, [&] {
    bed.gate.wait_for(1);
    until([&] { return has(R"("id":"asks")"); });
    is_early = has(R"("id":"waits")") || has(R"("id":"joins")");
    bed.gate.open();
  });
  stream.run_well({schedule_line("gated", 1, "gated"), R"({"op": "done", "id": "asks"})",
                   R"({"op": "fetch", "of": {"remote": "gated"}, "id": "waits"})", R"({"op": "join", "id": "joins"})",
                   R"({"op": "done", "id": "asks again"})"});
  opened.get();
  CHECK_FALSE(is_early);
  CHECK(stream.answer("asks")["value"] == false);
  CHECK(stream.answer("waits")["status"] == "ready");
  CHECK(stream.answer("joins")["status"] == "ready");
  CHECK(stream.answer("asks again")["value"] == true);
}

TEST_CASE("closures: the answer of a fetch has its keys in the order of the line") {
  Bed bed(1);
  Stream stream(bed);
  stream.run_well(
      {schedule_line("double", 4, "a"),
       R"({"op": "fetch", "of": {"z": 1, "b": {"remote": "a"}, "a": {"y": {"result": null}, "x": []}}, "id": "f"})"});
  CHECK(stream.written.find(R"("value":{"z":1,"b":8,"a":{"y":{"result":null},"x":[]}})") != std::string::npos);
}

TEST_CASE("closures: with keep_going nothing is cancelled or raised") {
  Bed bed;
  Stream stream(bed, {.keep_going = true});
  const auto summary = stream.run_well(
      {schedule_line("fail", 1, "bad"), schedule_line("double", 1, "good"), R"({"op": "join", "id": "join"})"});
  CHECK(summary.failed == 1);
  CHECK(summary.cancelled == 0);
  CHECK(stream.answer("join")["status"] == "ready");
}

TEST_CASE("closures: a line that is wrong gets an error with its label, and the run goes on") {
  Bed bed;
  Stream stream(bed);
  const std::vector<std::pair<std::string, std::string>> bad{
      {"{", "not JSON, at byte 2"},
      {"[1]", "a line must be an object"},
      {R"({"id": "x1"})", "'op' is missing"},
      {R"({"op": "shedule"})", "unknown op 'shedule', did you mean 'schedule'?"},
      {R"({"op": 3})", "'op' must be a string"},
      {R"({"op": "join", "id": [1]})", "'id' must be a string or an integer"},
      {R"({"op": "schedule"})", "schedule: 'function' is missing"},
      {R"({"op": "schedule", "function": "double", "arguments": [1]})", "schedule: unknown key 'arguments'"},
      {R"({"op": "schedule", "function": "double", "args": 1})", "schedule: 'args' must be a list"},
      {R"({"op": "schedule", "function": "duble", "args": [1]})", "no function 'duble', did you mean 'double'?"},
      {R"({"op": "schedule", "function": "double"})", "double: takes 1 argument, got 0"},
      {R"({"op": "schedule", "function": "double", "args": ["x"]})", "double: argument 0: "},
      {R"({"op": "schedule", "function": "double", "args": [[1, 2]]})", "double: argument 0: "},
      {R"({"op": "schedule", "function": "double", "args": [{"remote": "a"}]})", "a remote value can't be an argument"},
      {R"({"op": "schedule", "function": "next", "args": [{"per_worker": "ten"}]})", "no per-worker dataset 'ten' yet"},
      {R"({"op": "schedule", "function": "next", "args": [{"per_worker": "threes", "x": 1}]})",
       "next: argument 0: unknown key 'x' beside 'per_worker'"},
      {R"({"op": "schedule", "function": "next", "args": [1]})", "must be {\"per_worker\": DATASET}"},
      {R"({"op": "fetch", "of": {"remote": "nobody"}})", "no closure was scheduled with the id \"nobody\""},
      {R"({"op": "release"})", "release: 'of' is missing"},
      {R"({"op": "release", "of": {"remote": "nobody"}})", "release: no closure was scheduled with the id \"nobody\""},
      {R"({"op": "release", "of": ["nobody"]})", "release: \"nobody\" is no {\"remote\": ID}"},
      {R"({"op": "release", "of": [{"remote": "nobody", "result": 0}]})",
       "a closure's results are only released together"},
      {R"({"op": "release", "of": {"remote": "nobody", "of": 0}})", "is no {\"remote\": ID}"},
      {R"({"op": "create_per_worker_dataset", "dataset": "tenn"})", "no dataset 'tenn', did you mean 'ten'?"},
      {R"({"op": "read", "variable": "w"})", "no variable 'w'"},
      {R"({"op": "assign", "variable": "v", "value": "x"})", "v: "},
      {R"({"op": "restore", "path": "/nonexistent/directory"})", ""},
      {R"({"cluster": {}})", "the cluster spec is empty"},
      {R"({"op": "schedule", "function": "which_step", "step": -1})", "schedule: 'step' must be a whole number >= 0"},
      {R"({"op": "schedule", "function": "which_step", "step": 1.5})", "schedule: 'step' must be a whole number"},
      {R"({"op": "schedule", "function": "which_step", "step": "1"})", "schedule: 'step' must be a whole number"},
      {R"({"op": "schedule", "function": "which_step", "step": 18446744073709551615})", "schedule: 'step' must be a"},
      {R"({"op": "evaluate"})", "evaluate: 'function' is missing"},
      {R"({"op": "evaluate", "function": "eval", "steps": 0})", "evaluate: 'steps' must be a whole number >= 1"},
      {R"({"op": "evaluate", "function": "evil"})", "evaluate: no function 'evil', did you mean 'eval'?"},
      {R"({"op": "evaluate", "function": "peek"})", "evaluate: 'peek' has no metric"},
      {R"({"op": "evaluate", "function": "step"})",
       "evaluate: 'step' updates variables, which an evaluation must not do"},
      {R"({"op": "evaluate", "function": "double"})",
       "evaluate: 'double' takes arguments, but an evaluation passes none"},
      {R"({"op": "evaluate", "function": "eval_endless"})", "evaluate: dataset 'endless' never ends: set 'steps'"},
      {R"({"op": "next", "of": {"per_worker": "ten"}})", "unknown op 'next'"},
      {R"({"op": "schedule", "function": "double", "args": [1], "worker": 0})", "schedule: unknown key 'worker'"},
      {R"({"op": "schedule", "function": "double", "args": [1], "priority": 1})", "schedule: unknown key 'priority'"},
      {R"({"op": "schedule", "function": "double", "args": [1e400]})", "has a number that is too large for any dtype"},
      {R"({"op": "schedule", "function": "pair", "args": [], "kwargs": {"a": {"remote": "a"}, "b": 1}})",
       "a remote value can't be an argument: fetch it first"},
      {R"({"op": "join", "op": "done"})", "the key 'op' appears twice"},
      {R"({"op": "schedule", "function": "pair", "kwargs": {"a": 1, "b": 2, "a": 3}})", "the key 'a' appears twice"},
      {R"({"op": "fetch", "of": [{"x": 1}, {"y:": "a:b", "y\u003a": 1}]})", "the key 'y:' appears twice"},
  };
  std::vector<std::string> lines;
  for (const auto& [line, message] : bad) lines.push_back(line);
  lines.push_back(schedule_line("double", 1, "same"));
  lines.push_back(schedule_line("double", 1, "same"));
  lines.push_back("");
  lines.push_back(schedule_line("double", 4, "good"));
  const auto summary = stream.run_well(lines);
  for (std::size_t i = 0; i < bad.size(); ++i) {
    CAPTURE(bad[i].first);
    const json answer = i == 2 ? stream.answer("x1") : stream.answer(i + 1);
    CHECK(answer["status"] == "error");
    CHECK(answer["error"]["message"].get<std::string>().find(bad[i].second) != std::string::npos);
  }
  CHECK(stream.written.find("\"id\":\"same\",\"status\":\"error\",\"error\":{\"code\":\"ALREADY_EXISTS\"") !=
        std::string::npos);
  CHECK(stream.answer("good")["value"] == 8);
  CHECK(stream.answers().size() == bad.size() + 3);  // the empty line has none
  CHECK(summary.failed == bad.size() + 1);
}

TEST_CASE("closures: ordered answers come in the order of the lines") {
  Bed bed(3);
  Stream stream(bed, {.ordered = true});
  std::vector<std::string> lines;
  for (int i = 0; i < 500; ++i) lines.push_back(i % 7 == 3 ? "{" : schedule_line("double", i, "c" + std::to_string(i)));
  stream.run_well(lines);
  const auto answers = stream.answers();
  REQUIRE(answers.size() == 500);
  for (int i = 0; i < 500; ++i) {
    const json& answer = answers[static_cast<std::size_t>(i)];
    if (i % 7 == 3)
      CHECK(answer["line"] == i + 1);
    else
      CHECK(answer["id"] == "c" + std::to_string(i));
  }
}

TEST_CASE("closures: a step is what the function's input gets; without one it is 0") {
  Bed bed;
  Stream stream(bed);
  stream.run_well({R"({"op": "schedule", "function": "which_step", "step": 7, "id": "seven"})",
                   R"({"op": "schedule", "function": "which_step", "id": "none"})",
                   R"({"op": "join"})",  // what fails next cancels neither
                   R"({"op": "schedule", "function": "which_step", "step": 2147483648, "id": "wide"})"});
  CHECK(stream.answer("seven")["value"] == 7);
  CHECK(stream.answer("none")["value"] == 0);
  CHECK(stream.answer("wide")["error"]["code"] == "INVALID_ARGUMENT");
}

TEST_CASE("closures: an evaluation follows all before it, and is followed by all behind it") {
  Bed bed(2);
  Stream stream(bed);
  bed.gate.close();
  auto opened = std::async(std::launch::async, [&] {
    bed.gate.wait_for(2);
    bed.gate.open();
  });
  std::vector<std::string> lines;
  for (int i = 0; i < 10; ++i) lines.push_back(schedule_line("gated", 1, fmt::format("before-{}", i)));
  lines.push_back(R"({"op": "evaluate", "function": "eval", "id": "all"})");
  lines.push_back(R"({"op": "evaluate", "function": "eval", "steps": 4, "id": "four"})");
  for (int i = 0; i < 10; ++i) lines.push_back(schedule_line("add", 1, fmt::format("behind-{}", i)));
  const auto summary = stream.run_well(lines);
  opened.get();
  CHECK(stream.answer("all") == json::parse(R"({"id": "all", "status": "ready", "value": {"mean_x": 4.5}})"));
  CHECK(stream.answer("four")["value"] == json::parse(R"({"mean_x": 1.5})"));
  const auto answers = stream.answers();
  REQUIRE(answers.size() == 22);
  CHECK(answers[10]["id"] == "all");
  CHECK(answers[11]["id"] == "four");
  for (std::size_t i = 0; i < 10; ++i) CHECK(answers[i]["id"].get<std::string>().starts_with("before-"));
  CHECK(summary.failed + summary.cancelled == 0);
  CHECK(summary.ready == 20);  // closures
}

TEST_CASE("closures: an evaluation raises what a closure before it has failed with, and the next one is made") {
  Bed bed(1);
  Stream stream(bed, {.ordered = true});
  const auto summary =
      stream.run_well({schedule_line("fail", 9, "bad"), R"({"op": "evaluate", "function": "evil", "id": "wrong"})",
                       R"({"op": "evaluate", "function": "eval", "id": "raises"})",
                       R"({"op": "evaluate", "function": "eval", "id": "evaluates"})"});
  CHECK(stream.answer("wrong")["status"] == "error");  // which concerns nobody else
  CHECK(stream.answer("raises")["status"] == "raised");
  CHECK(stream.answer("raises")["error"]["message"] == "fail: bad 9");
  CHECK(stream.answer("evaluates")["value"]["mean_x"] == 4.5);
  CHECK(summary.failed == 2);
  CHECK(summary.cancelled == 1);
}

TEST_CASE("closures: with keep_going an evaluation follows those that failed, and raises nothing") {
  Bed bed(2);
  Stream stream(bed, {.keep_going = true});
  const auto summary =
      stream.run_well({schedule_line("fail", 9, "bad"), R"({"op": "evaluate", "function": "eval", "id": "e"})"});
  CHECK(stream.answers()[0]["id"] == "bad");
  CHECK(stream.answer("e")["value"]["mean_x"] == 4.5);
  CHECK(summary.failed == 1);
}

TEST_CASE("closures: what fails in an evaluation is its line's error") {
  Bed bed;
  Stream stream(bed);
  bed.gate.close();
  auto killed = std::async(std::launch::async, [&] {
    bed.gate.wait_for(1);
    bed.kill("ps:0");
  });
  const auto result = stream.run({R"({"op": "evaluate", "function": "eval", "id": "e"})"});
  killed.get();
  bed.gate.open();
  REQUIRE_FALSE(result);
  CHECK(stream.answer("e")["status"] == "error");
  CHECK(stream.answer("e")["error"]["task"] == "ps:0");
}

TEST_CASE("closures: save and restore") {
  TemporaryDirectory directory;
  Bed bed;
  Stream stream(bed);
  const std::string path = directory.path() + "/ck";
  stream.run_well(
      {schedule_line("add", 5, "a"), R"({"op": "join"})", json{{"op", "save"}, {"path", path}, {"id", "save"}}.dump(),
       R"({"op": "assign", "variable": "v", "value": 100})", R"({"op": "read", "variable": "v", "id": "changed"})",
       json{{"op", "restore"}, {"path", path}, {"id", "restore"}}.dump(),
       R"({"op": "read", "variable": "v", "id": "back"})"});
  CHECK(stream.answer("save") == json::parse(R"({"id": "save", "status": "ready", "step": 1})"));
  CHECK(stream.answer("changed")["value"] == 100);
  CHECK(stream.answer("restore")["step"] == 1);
  CHECK(stream.answer("back")["value"] == 5);
}

TEST_CASE("closures: a reader that stops reading stops the schedule") {
  Bed bed;
  Stream stream(bed, {.most_unanswered = 100});
  std::atomic<int> lines{0};
  std::promise<void> stuck, go_on;
  auto continues = go_on.get_future().share();
  std::atomic<bool> first{true};
  auto result = std::async(std::launch::async, [&] {
    return run_closures(
        *stream.coordinator, stream.program,
        [&](Deadline) -> Result<std::optional<std::string>> {
          if (lines == 1000) return std::nullopt;
          ++lines;
          return R"({"op": "schedule", "function": "double", "args": [1]})";
        },
        [&](std::string_view) -> Result<void> {
          if (first.exchange(false)) stuck.set_value();
          continues.wait();
          return {};
        },
        stream.options);
  });
  stuck.get_future().wait();
  while (lines < 101) std::this_thread::yield();  // 100 unanswered, and one in the reader's hand
  (void)stream.coordinator->join(Deadline::after(20s));
  CHECK(lines == 101);
  go_on.set_value();
  const auto summary = result.get();
  REQUIRE(summary);
  CHECK(summary->ready == 1000);
}

TEST_CASE(
    "closures: at the limit of unanswered lines a failure is raised by the next one, and what waits is cancelled") {
  Bed bed(1, 1);
  bed.gate.close();
  Stream stream(bed, {.most_unanswered = 100});
  std::atomic<int> lines{0};
  auto result = std::async(std::launch::async, [&] {
    return run_closures(
        *stream.coordinator, stream.program,
        [&](Deadline) -> Result<std::optional<std::string>> {
          if (lines == 400) return std::nullopt;
          const int line = lines++;
          const char* const function = line == 0 ? "gated" : line == 1 ? "fail" : "double";
          return schedule_line(function, line, std::to_string(line));
        },
        [](std::string_view) { return Result<void>(); }, stream.options);
  });
  while (lines < 101) std::this_thread::yield();  // 100 unanswered, and one in the reader's hand
  bed.gate.open();
  REQUIRE(result.wait_for(30s) == std::future_status::ready);
  const auto summary = result.get();
  REQUIRE(summary);
  CHECK(summary->lines == 400);
  CHECK(summary->failed == 1);
  CHECK(summary->cancelled > 0);
  CHECK(summary->ready + summary->cancelled == 399);
}

TEST_CASE("closures: a lost parameter server answers everything that was read and ends the stream") {
  Bed bed;
  Stream stream(bed);
  bed.gate.close();
  auto killed = std::async(std::launch::async, [&] {
    bed.gate.wait_for(1);
    bed.kill("ps:0");
  });
  bool first = true;
  const auto result = run_closures(
      *stream.coordinator, stream.program,
      [&](Deadline) -> Result<std::optional<std::string>> {
        if (std::exchange(first, false)) return schedule_line("gated", 1, "a");
        return fail(Code::kDeadlineExceeded, "nothing yet");  // the stream stays open
      },
      [&](std::string_view text) -> Result<void> {
        stream.written.append(text);
        return {};
      },
      stream.options);
  killed.get();
  bed.gate.open();
  REQUIRE_FALSE(result);
  CHECK(result.error().code == Code::kUnavailable);
  CHECK(result.error().task == "ps:0");
  CHECK(stream.answer("a")["error"]["code"] == "UNAVAILABLE");
}

TEST_CASE("closures: every schedule, join and done after a lost parameter server raises it, others fail") {
  Bed bed;
  Stream stream(bed);
  std::deque<std::string> lines{
      schedule_line("double", 1, "before"),
      R"({"op": "join", "id": "joined"})",
      schedule_line("double", 1, "scheduled"),
      R"({"op": "join", "id": "joins"})",
      R"({"op": "done", "id": "asks"})",
      R"({"op": "join", "id": "joins again"})",
      R"({"op": "evaluate", "function": "eval", "id": "evaluates"})",
      R"({"op": "fetch", "of": {"remote": "before"}, "id": "fetches"})",
      R"({"op": "read", "variable": "v", "id": "reads"})",
  };
  bool killed = false;
  const auto result = run_closures(
      *stream.coordinator, stream.program,
      [&](Deadline) -> Result<std::optional<std::string>> {
        if (lines.empty()) return fail(Code::kDeadlineExceeded, "nothing yet");
        if (lines.size() == 7 && !std::exchange(killed, true)) bed.kill("ps:0");
        if (killed && !stream.coordinator->lost()) return fail(Code::kDeadlineExceeded, "nothing yet");
        std::string line = std::move(lines.front());
        lines.pop_front();
        return line;
      },
      [&](std::string_view text) -> Result<void> {
        stream.written.append(text);
        return {};
      },
      stream.options);
  REQUIRE_FALSE(result);
  CHECK(stream.answer("joined")["status"] == "ready");
  for (const char* id : {"scheduled", "joins", "asks", "joins again", "evaluates"}) {
    CHECK(stream.answer(id)["status"] == "raised");
    CHECK(stream.answer(id)["error"]["code"] == "UNAVAILABLE");
    CHECK(stream.answer(id)["error"]["task"] == "ps:0");
  }
  for (const char* id : {"fetches", "reads"}) {
    CHECK(stream.answer(id)["status"] == "error");
    CHECK(stream.answer(id)["error"]["code"] == "UNAVAILABLE");
  }
}

TEST_CASE("closures: a reader of the answers that is gone ends the stream") {
  Bed bed;
  Stream stream(bed);
  const auto result = run_closures(
      *stream.coordinator, stream.program,
      [&](Deadline) -> Result<std::optional<std::string>> { return R"({"op": "done"})"; },
      [&](std::string_view) -> Result<void> { return fail(Code::kUnavailable, "nobody reads"); }, stream.options);
  REQUIRE_FALSE(result);
  CHECK(result.error().message == "nobody reads");
}
