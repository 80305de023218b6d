// SPDX-License-Identifier: Apache-2.0
//
// Values that a stream of closures keeps: until a line releases them, or none at all.
#include <future>
#include <thread>

#include "closure_stream.hpp"

using namespace tfd;
using namespace tfd::bed;

namespace {

std::string message_of(const json& answer) {
  CHECK(answer["status"] == "error");
  return answer["error"]["message"];
}

}  // namespace

TEST_CASE("release: what was released can't be fetched, and the error names the line") {
  Bed bed;
  Stream stream(bed);
  const auto summary = stream.run_well({
      schedule_line("double", 5, "a"),
      schedule_line("double", 6, "b"),
      schedule_line("pair", 7, "wrong"),
      schedule_line("double", 7, "c"),
      R"({"op": "join"})",
      R"({"op": "fetch", "of": [{"remote": "a"}, {"remote": "b"}], "id": "before"})",
      R"({"op": "release", "of": {"x": [{"remote": "a"}], "y": {"remote": "b"}}, "id": "r"})",
      R"({"op": "fetch", "of": [{"remote": "c"}, {"remote": "b"}], "id": "after"})",
      R"({"op": "fetch", "of": {"remote": "a", "result": 0}, "id": "one"})",
      R"({"op": "schedule", "function": "double", "args": [{"remote": "a"}], "id": "argument"})",
      R"({"op": "schedule", "function": "double", "args": [{"remote": "c"}], "id": "kept argument"})",
      schedule_line("double", 1, "a"),
      R"({"op": "release", "of": {"remote": "a"}, "id": "again"})",
      R"({"op": "release", "of": []})",
      R"({"op": "fetch", "of": {"remote": "a"}, "id": "still"})",
      R"({"op": "fetch", "of": {"remote": "c"}, "id": "kept"})",
      R"({"op": "release", "of": {"remote": "wrong"}, "id": "wrong one"})",
      R"({"op": "release", "of": {"remote": "r"}, "id": "release itself"})",
  });
  CHECK(stream.answer("before")["value"] == json{10, 12});
  CHECK(stream.answer("r") == json::parse(R"({"id": "r", "status": "ready"})"));
  CHECK(message_of(stream.answer("after")) == "fetch: the value of \"b\" was released by line 7");
  CHECK(stream.answer("after")["error"]["code"] == "FAILED_PRECONDITION");
  CHECK(message_of(stream.answer("one")) == "fetch: the value of \"a\" was released by line 7");
  CHECK(message_of(stream.answer("argument")) == "schedule: the value of \"a\" was released by line 7");
  CHECK(message_of(stream.answer("kept argument")).find("fetch it first") != std::string::npos);
  CHECK(stream.written.find("id \\\"a\\\" was used before") != std::string::npos);
  CHECK(stream.answer("again")["status"] == "ready");
  CHECK(message_of(stream.answer("still")) == "fetch: the value of \"a\" was released by line 7");
  CHECK(stream.answer("kept")["value"] == 14);
  CHECK(message_of(stream.answer("wrong one")).find("no closure was scheduled") != std::string::npos);
  CHECK(message_of(stream.answer("release itself")).find("no closure was scheduled") != std::string::npos);
  CHECK(summary.lines == 18);
}

TEST_CASE("release: all that a line names, or nothing") {
  Bed bed;
  Stream stream(bed);
  stream.run_well({schedule_line("double", 5, "a"),
                   R"({"op": "release", "of": [{"remote": "a"}, {"remote": "nobody"}], "id": "r"})",
                   R"({"op": "fetch", "of": {"remote": "a"}, "id": "f"})"});
  CHECK(message_of(stream.answer("r")) == "release: no closure was scheduled with the id \"nobody\"");
  CHECK(stream.answer("f")["value"] == 10);
}

TEST_CASE("release: a closure that runs answers, and so does a fetch that waits for it") {
  Bed bed(1);
  Stream stream(bed);
  bed.gate.close();
  auto opened = std::async(std::launch::async, [&] {
    bed.gate.wait_for(1);
    const auto is_refused = [&] {
      const std::scoped_lock lock(stream.mutex);
      return stream.written.find("was released") != std::string::npos;
    };
    while (!is_refused()) std::this_thread::yield();
    bed.gate.open();
  });
  stream.run_well({schedule_line("gated", 4, "a"), R"({"op": "fetch", "of": {"x": {"remote": "a"}}, "id": "waits"})",
                   R"({"op": "release", "of": {"remote": "a"}, "id": "r"})",
                   R"({"op": "fetch", "of": {"remote": "a"}, "id": "late"})", R"({"op": "join"})",
                   R"({"op": "fetch", "of": {"remote": "a"}, "id": "later"})"});
  opened.get();
  CHECK(stream.answer("r")["status"] == "ready");
  CHECK(stream.answer("a")["status"] == "ready");
  CHECK(stream.answer("waits")["value"] == json{{"x", stream.answer("a")["value"]}});
  CHECK(message_of(stream.answer("late")) == "fetch: the value of \"a\" was released by line 3");
  CHECK(message_of(stream.answer("later")) == "fetch: the value of \"a\" was released by line 3");
}

TEST_CASE("release: an error is a value too, and one without results is fetched as null until then") {
  Bed bed(1);
  Stream stream(bed, {.keep_going = true});
  stream.run_well({schedule_line("fail", 1, "bad"), schedule_line("add", 1, "none"), schedule_line("add", 1, "other"),
                   R"({"op": "join"})",
                   R"({"op": "fetch", "of": [{"remote": "none"}, {"remote": "other"}], "id": "nulls"})",
                   R"({"op": "release", "of": [{"remote": "bad"}, {"remote": "none"}]})",
                   R"({"op": "fetch", "of": {"remote": "bad"}, "id": "f"})",
                   R"({"op": "fetch", "of": {"remote": "none"}, "id": "g"})",
                   R"({"op": "fetch", "of": {"remote": "other"}, "id": "h"})"});
  CHECK(stream.answer("nulls")["value"] == json{nullptr, nullptr});
  CHECK(message_of(stream.answer("f")) == "fetch: the value of \"bad\" was released by line 6");
  CHECK(message_of(stream.answer("g")) == "fetch: the value of \"none\" was released by line 6");
  CHECK(stream.answer("h")["value"].is_null());
}

TEST_CASE("forget: every closure answers, and none can be fetched, wherever the fetch is") {
  Bed bed(2);
  Stream stream(bed, {.forget = true});
  stream.run_well({schedule_line("double", 5, "a"), R"({"op": "fetch", "of": {"remote": "a"}, "id": "at once"})",
                   R"({"op": "join"})", R"({"op": "fetch", "of": {"remote": "a"}, "id": "later"})",
                   R"({"op": "fetch", "of": {"remote": "nobody"}, "id": "unknown"})",
                   R"({"op": "release", "of": {"remote": "a"}, "id": "r"})", schedule_line("double", 6, "a"),
                   R"({"op": "fetch", "of": "text", "id": "text"})"});
  CHECK(stream.written.find(R"({"id":"a","status":"ready","value":10})") != std::string::npos);
  for (const char* id : {"at once", "later"})
    CHECK(message_of(stream.answer(id)) ==
          "fetch: the value of \"a\" was released: --forget keeps none beyond its answer");
  CHECK(message_of(stream.answer("unknown")).find("no closure was scheduled") != std::string::npos);
  CHECK(stream.answer("r")["status"] == "ready");
  CHECK(stream.written.find("id \\\"a\\\" was used before") != std::string::npos);
  CHECK(stream.answer("text")["value"] == "text");
}
