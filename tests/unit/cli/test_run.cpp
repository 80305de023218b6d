// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <new>
#include <stdexcept>
#include <thread>

#include "sample.hpp"
#include "temporary_directory.hpp"
#include "tfd/base/file.hpp"

using namespace tfd;
using namespace tfd::cli;

namespace {

Tool running(std::function<Result<ExitCode>(Io&)> run) {
  return {.name = "tfd-x", .summary = "x", .run = std::move(run)};
}

}  // namespace

TEST_CASE("cli: each error code has its exit code") {
  const std::pair<Code, int> table[] = {{Code::kUsage, 64},
                                        {Code::kInvalidArgument, 65},
                                        {Code::kNotFound, 65},
                                        {Code::kAlreadyExists, 65},
                                        {Code::kOutOfRange, 65},
                                        {Code::kDataLoss, 65},
                                        {Code::kUnimplemented, 65},
                                        {Code::kUnavailable, 69},
                                        {Code::kInternal, 70},
                                        {Code::kUnknown, 70},
                                        {Code::kSystem, 71},
                                        {Code::kResourceExhausted, 71},
                                        {Code::kDeadlineExceeded, 75},
                                        {Code::kAborted, 75},
                                        {Code::kCancelled, 75},
                                        {Code::kProtocolMismatch, 76},
                                        {Code::kPermissionDenied, 77},
                                        {Code::kFailedPrecondition, 78}};
  for (const auto& [code, exit] : table) {
    Sample s;
    const Code failing = code;
    s.run(running([&](Io&) -> Result<ExitCode> { return fail(failing, "cannot do it"); }), {});
    CHECK(s.code == exit);
    CHECK(s.err == (code == Code::kUsage ? "tfd-x: cannot do it (see tfd-x --help)\n" : "tfd-x: cannot do it\n"));
  }
}

TEST_CASE("cli: a launcher finds in TFD_ERROR_FILE why a tool failed, and nothing where it didn't") {
  const test::TemporaryDirectory directory;
  const std::string path = directory.path() + "/error.json";
  Sample s;
  s.run(running([](Io&) -> Result<ExitCode> { return ExitCode::kDone; }), {}, with("TFD_ERROR_FILE", path));
  CHECK(!load_file(path, 1 << 20));
  s.run(running([](Io&) -> Result<ExitCode> {
          return fail(Error{Code::kUnavailable, "it's \"lost\"\nhint: wait", "worker:1"});
        }),
        {}, with("TFD_ERROR_FILE", path));
  const auto text = load_file(path, 1 << 20);
  REQUIRE(text);
  CHECK(text->starts_with(R"({"message":"worker:1: it's \"lost\"","code":69,"host":)"));
}

TEST_CASE("cli: exceptions end as 70, lack of memory as 71") {
  Sample s;
  s.run(running([](Io&) -> Result<ExitCode> { throw std::logic_error("oops\x1b"); }), {});
  CHECK(s.code == 70);
  CHECK(s.err == "tfd-x: bug: oops?\n");
  s.run(running([](Io&) -> Result<ExitCode> { throw 1; }), {});
  CHECK(s.code == 70);
  s.run(running([](Io&) -> Result<ExitCode> { throw std::bad_alloc(); }), {});
  CHECK(s.code == 71);
  CHECK(s.err == "tfd-x: out of memory\n");
}

TEST_CASE("cli: run_raw gives any exit code") {
  Sample s;
  Tool tool{.name = "tfd-x", .summary = "x", .run_raw = [](Io&) -> Result<int> { return 137; }};
  CHECK(s.run(tool, {}).code == 137);
  tool.run_raw = [](Io&) -> Result<int> { return fail(Code::kDeadlineExceeded, "too late"); };
  CHECK(s.run(tool, {}).code == 75);
}

TEST_CASE("cli: an error is one line, its hint a second one, control characters are stripped") {
  CHECK(error_line("tfd-x", {Code::kNotFound, "no file 'a'", ""}) == "tfd-x: no file 'a'\n");
  CHECK(error_line("tfd-x", {Code::kNotFound, "no \x1b[1mfile\nreally", ""}) == "tfd-x: no ?[1mfile really\n");
  CHECK(error_line("tfd-x", {Code::kNotFound, "no plug-in\nhint: run ./dev setup", ""}) ==
        "tfd-x: no plug-in\nhint: run ./dev setup\n");
  CHECK(error_line("tfd-x", {Code::kUnavailable, "connection reset", "worker:1"}) ==
        "tfd-x: worker:1: connection reset\n");
  CHECK(error_line("tfd-x", {Code::kUnavailable, "worker:1 is gone", "worker:1"}) == "tfd-x: worker:1 is gone\n");
  CHECK(error_line("tfd-x", {Code::kUnavailable, "worker:10 is gone", "worker:1"}) ==
        "tfd-x: worker:1: worker:10 is gone\n");
}

TEST_CASE("cli: -v, -q and TFD_LOG decide what the log prints") {
  const auto printed = [](const std::vector<std::string>& arguments, const std::string& tfd_log) {
    Sample s;
    Environment env;
    if (!tfd_log.empty()) env.set("TFD_LOG", tfd_log);
    s.run(running([](Io& io) -> Result<ExitCode> {
            const Log log = io.log.for_room("transport");
            log.error("e");
            log.warning("w");
            log.info("i");
            log.debug("d");
            io.log.for_room("data").info("other");
            return ExitCode::kDone;
          }),
          arguments, env);
    return s.err;
  };
  CHECK(printed({}, "") == "tfd-x: e\ntfd-x: w\n");
  CHECK(printed({"-q"}, "") == "tfd-x: e\n");
  CHECK(printed({"-v"}, "") == "tfd-x: e\ntfd-x: w\ntfd-x: i\ntfd-x: other\n");
  CHECK(printed({"-vv"}, "") == "tfd-x: e\ntfd-x: w\ntfd-x: i\ntfd-x: transport: d\ntfd-x: other\n");
  CHECK(printed({}, "transport=debug") == "tfd-x: e\ntfd-x: w\ntfd-x: i\ntfd-x: transport: d\n");
  CHECK(printed({"-q"}, "transport=info") == "tfd-x: e\ntfd-x: w\ntfd-x: i\n");
  CHECK(printed({}, "error") == "tfd-x: e\n");
  CHECK(printed({"-v"}, "error,transport=error") == "tfd-x: e\ntfd-x: other\n");
  CHECK(printed({"-q"}, "transport=loud") == "tfd-x: e\n");
  CHECK(printed({}, "transport=loud")
            .starts_with("tfd-x: TFD_LOG: 'transport=loud' is not LEVEL or ROOM=LEVEL; levels are "));
}

TEST_CASE("cli: threads may log at the same time, lines stay whole") {
  Sample s;
  s.run(running([](Io& io) -> Result<ExitCode> {
          std::vector<std::jthread> threads;
          for (int thread = 0; thread < 4; ++thread)
            threads.emplace_back([log = io.log.for_room("data")] {
              for (int line = 0; line < 100; ++line) log.warning("one whole line");
            });
          return ExitCode::kDone;
        }),
        {});
  std::string wanted;
  for (int line = 0; line < 400; ++line) wanted += "tfd-x: one whole line\n";
  CHECK(s.err == wanted);
}

TEST_CASE("cli: colour only when asked for, or on a terminal") {
  const auto tool = running([](Io& io) -> Result<ExitCode> {
    io.log.error("red");
    return ExitCode::kDone;
  });
  Sample s;
  CHECK(s.run(tool, {}).err == "tfd-x: red\n");
  CHECK_FALSE(s.io.color);
  CHECK(s.run(tool, {"--color", "always"}).err == "\x1b[31mtfd-x:\x1b[0m red\n");
  CHECK(s.run(tool, {"--color=always"}, with("NO_COLOR", "1")).io.color);
  CHECK(s.run(tool, {"--color", "sometimes"}).code == 64);
}
