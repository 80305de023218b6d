// SPDX-License-Identifier: Apache-2.0
//
// The running commands of this room; what functions make of them is tested by unit/function.
#include <doctest/doctest.h>
#include <sys/types.h>

#include <cerrno>
#include <csignal>
#include <string>

#include "commands.hpp"

using namespace tfd;
using namespace tfd::command;
using namespace tfd::command::test;

namespace {

CommandProcess start(const std::string& script, CommandPlace place = here()) {
  auto process = CommandProcess::start(shell(script), place);
  if (!process) FAIL(process.error().message);
  return std::move(*process);
}

bool is_gone(pid_t pid) { return ::kill(pid, 0) != 0 && errno == ESRCH; }

void check_fails(const Result<std::string>& result, Code code, const std::string& text) {
  REQUIRE_FALSE(result.has_value());
  CHECK(result.error().code == code);
  CHECK(result.error().message == text);
}

}  // namespace

TEST_CASE("command process: run_once() writes the line and returns everything that was printed") {
  CHECK(start("read x; echo got $x; cat; echo end").run_once("a\nb\n", kMost, soon()) == "got a\nb\nend\n");
}

TEST_CASE("command process: an error has the exit status and the end of stderr") {
  check_fails(start("cat >/dev/null; echo no >&2; exit 3").run_once("x\n", kMost, soon()), Code::kFailedPrecondition,
              "command 'sh' exited with 3; stderr: no");
  check_fails(start("read x; exit 4").exchange("x\n", kMost, soon()), Code::kFailedPrecondition,
              "command 'sh' ended without an answer; it exited with 4");
  check_fails(start("exec yes").run_once("", 3, soon()), Code::kResourceExhausted,
              "command 'sh' printed more than 3 bytes");
}

TEST_CASE("command process: a filter answers line by line, and its whole group ends with it") {
  pid_t leader = 0;
  {
    CommandProcess filter = start("sleep 1000 & while read x; do echo $$ $x; done");
    const std::string answer = filter.exchange("1\n", kMost, soon()).value_or("");
    leader = static_cast<pid_t>(std::stol(answer));
    CHECK(answer == std::to_string(leader) + " 1");
    CHECK_FALSE(filter.is_spoilt());
    CHECK(filter.exchange("2\n", kMost, soon()) == std::to_string(leader) + " 2");
    CHECK_FALSE(is_gone(leader));
  }
  CHECK(is_gone(leader));
}

TEST_CASE("command process: a stop sends SIGTERM first, so that the command can clean up") {
  CommandPlace place = here();
  const auto stop = std::make_shared<const CommandStop>();
  place.stop = stop;
  CommandProcess process = start("trap 'echo cleaned >&2; exit 0' TERM; echo ready; sleep 1000 & wait", place);
  CHECK(process.read_output(kMost) == "ready\n");
  stop->request();
  check_fails(process.read_output(kMost), Code::kCancelled,
              "command 'sh' was stopped; it exited with 0; stderr: cleaned");
}

TEST_CASE("command process: a command that ignores SIGTERM is killed") {
  CommandProcess process = start("trap '' TERM; echo $$; while :; do sleep 1000; done");
  const auto leader = static_cast<pid_t>(std::stol(process.read_output(kMost).value_or("0")));
  REQUIRE(leader > 0);
  process.stop();
  CHECK(is_gone(leader));
}

TEST_CASE("command output: the text of a command in pieces, then its end") {
  CommandOutput output(shell("printf one; printf two"), here());
  std::string text, piece(2, '\0');
  for (;;) {
    const auto count = output.read(piece);
    REQUIRE(count.has_value());
    if (*count == 0) break;
    text += piece.substr(0, *count);
  }
  CHECK(text == "onetwo");
}

TEST_CASE("command output: an error is returned again") {
  CommandOutput output(shell("echo no >&2; exit 3"), here());
  std::string piece(10, '\0');
  for (int i = 0; i < 2; ++i) {
    const auto count = output.read(piece);
    REQUIRE_FALSE(count.has_value());
    CHECK(count.error().message == "command 'sh' exited with 3; stderr: no");
  }
}
