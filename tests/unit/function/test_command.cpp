// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>
#include <poll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <csignal>
#include <string>

#include "tfd/function/command.hpp"

using namespace tfd;
using namespace std::chrono_literals;
using command::CommandDef;
using tensor::DType;
using tensor::Tensor;

namespace {

const hlo::Signature kOneToOne{{{"x", {DType::kS32, {}}, {}}}, {{"y", {DType::kS32, {}}, {}}}};

Tensor number(std::int32_t value) { return Tensor::scalar(DType::kS32, value); }

CommandDef shell(const std::string& script, bool keep = false) {
  return {.argv = {"sh", "-c", script}, .keep = keep, .timeout = 20s};
}

command::CommandPlace here() { return {.directory = "/", .environment = Environment::of_process(), .guard = nullptr}; }

std::shared_ptr<function::Function> make(CommandDef command, hlo::Signature signature = kOneToOne) {
  return function::make_command_function(std::move(command), here(), std::move(signature));
}

std::int32_t value_of(const Result<std::vector<Tensor>>& result) {
  if (!result) FAIL(result.error().message);
  return result->at(0).as<std::int32_t>()[0];
}

void check_fails(const Result<std::vector<Tensor>>& result, Code code, const std::string& text) {
  REQUIRE_FALSE(result.has_value());
  CHECK(result.error().code == code);
  CHECK(result.error().message == text);
}

/// A filter in sh: reads a line, prints an answer.
constexpr const char* kAddOne = "while read x; do echo $((x + 1)); done";

}  // namespace

TEST_CASE("command: one run per call gets its argument as a line and answers with another") {
  const auto add = make(shell("read x; echo $((x + 1))"));
  CHECK(value_of(add->call({number(41)})) == 42);
  CHECK(value_of(add->call({number(-1)})) == 0);
}

TEST_CASE("command: several arguments and results are lists, none is null") {
  const hlo::Parameter vector{"v", {DType::kF32, {2}}, {}}, scalar{"s", {DType::kF64, {}}, {}};
  const auto swap = make({.argv = {"sed", "s/^\\[\\(.*\\),\\(.*\\)\\]$/[\\2,\\1]/"}, .timeout = 20s},
                         {{vector, scalar}, {scalar, vector}});
  Tensor values = Tensor::zeros(DType::kF32, {2});
  values.mutable_as<float>()[1] = 0.1F;
  const auto result = swap->call({values, Tensor::scalar(DType::kF64, 0.1)});
  if (!result) FAIL(result.error().message);
  CHECK((*result)[0].as<double>()[0] == 0.1);
  CHECK((*result)[1].as<float>()[1] == 0.1F);
  const auto constant = make(shell("read x; test \"$x\" = null && echo 7"), {{}, kOneToOne.results});
  CHECK(value_of(constant->call({})) == 7);
  const auto sink = make(shell("cat >/dev/null"), {kOneToOne.arguments, {}});
  const auto nothing = sink->call({number(1)});
  REQUIRE(nothing.has_value());
  CHECK(nothing->empty());
}

TEST_CASE("command: an answer may be indented JSON, and numbers that don't fit are said where") {
  CHECK(value_of(make(shell("printf '\\n  5\\n\\n'"))->call({number(0)})) == 5);
  check_fails(make(shell("echo 3000000000"))->call({number(0)}), Code::kInvalidArgument,
              "command 'sh' printed a wrong result: 3000000000 does not fit s32");
}

TEST_CASE("command: how it failed is told with the end of its stderr") {
  check_fails(make(shell("echo one >&2; echo two >&2; exit 3"))->call({number(0)}), Code::kFailedPrecondition,
              "command 'sh' exited with 3; stderr: one | two");
  check_fails(make(shell("kill -9 $$"))->call({number(0)}), Code::kFailedPrecondition,
              "command 'sh' died of signal 9 (killed)");
  check_fails(make(shell("echo 1; exit 4"))->call({number(0)}), Code::kFailedPrecondition,
              "command 'sh' exited with 4");
}

TEST_CASE("command: garbage, nothing and too much are errors") {
  check_fails(make(shell("echo 'hello world'"))->call({number(0)}), Code::kInvalidArgument,
              "command 'sh' printed text that is not JSON: 'hello world'");
  check_fails(make(shell("true"))->call({number(0)}), Code::kInvalidArgument,
              "command 'sh' printed nothing, but s32[] was expected");
  check_fails(
      make(shell("true"), {kOneToOne.arguments, {kOneToOne.results[0], kOneToOne.results[0]}})->call({number(0)}),
      Code::kInvalidArgument, "command 'sh' printed nothing, but [s32[], s32[]] was expected");
  const auto endless = make(shell("exec yes"))->call({number(0)});
  REQUIRE_FALSE(endless.has_value());
  CHECK(endless.error().code == Code::kResourceExhausted);
  CHECK(endless.error().message.starts_with("command 'sh' printed more than "));
}

TEST_CASE("command: one that never ends is ended at its deadline, with what it had started") {
  CommandDef slow = shell("echo waiting >&2; sleep 1000 & wait");
  slow.timeout = 200ms;
  check_fails(make(slow)->call({number(0)}), Code::kDeadlineExceeded,
              "command 'sh' did not answer in time; stderr: waiting");
}

TEST_CASE("command: one that doesn't read its input may still answer") {
  Tensor large = Tensor::zeros(DType::kF64, {100000});
  const auto deaf = make(shell("exec <&-; echo 6"), {{{"x", large.spec(), {}}}, kOneToOne.results});
  CHECK(value_of(deaf->call({large})) == 6);
}

TEST_CASE("command: one that isn't there is not found") {
  check_fails(make({.argv = {"no-such-command-of-tfd"}})->call({number(0)}), Code::kFailedPrecondition,
              "cannot run no-such-command-of-tfd: command not found");
  check_fails(make({.argv = {"/"}})->call({number(0)}), Code::kPermissionDenied, "cannot run /: permission denied");
}

TEST_CASE("command: it gets no descriptors of ours") {
  const int pipe_end = ::dup(1);
  REQUIRE(pipe_end > 2);
  CHECK(value_of(make(shell("ls /proc/self/fd | wc -l"))->call({number(0)})) == 4);  // three, and ls's own
  ::close(pipe_end);
}

TEST_CASE("filter: one process answers call after call") {
  const auto same = make(shell("while read x; do echo $$; done", true));
  const auto first = value_of(same->call({number(1)}));
  CHECK(value_of(same->call({number(2)})) == first);
  const auto add = make(shell(kAddOne, true));
  for (int i = 0; i < 20; ++i) CHECK(value_of(add->call({number(i)})) == i + 1);
}

TEST_CASE("filter: one that dies fails that call, and is started again for the next") {
  const auto fragile =
      make(shell("while read x; do test $x = 13 && { echo unlucky >&2; exit 5; }; echo $x; done", true));
  CHECK(value_of(fragile->call({number(1)})) == 1);
  check_fails(fragile->call({number(13)}), Code::kFailedPrecondition,
              "command 'sh' ended without an answer; it exited with 5; stderr: unlucky");
  CHECK(value_of(fragile->call({number(2)})) == 2);
}

TEST_CASE("filter: one that ends between two calls, or says what nobody asked for, is started again") {
  const auto once = make(shell("read x; echo $x", true));
  CHECK(value_of(once->call({number(1)})) == 1);
  CHECK(value_of(once->call({number(2)})) == 2);
  const auto chatty = make(shell("while read x; do printf '%s\\n%s\\n' $x 99; done", true));
  CHECK(value_of(chatty->call({number(1)})) == 1);
  CHECK(value_of(chatty->call({number(2)})) == 2);
}

TEST_CASE("filter: garbage and silence fail that call only") {
  CommandDef moody =
      shell("while read x; do case $x in 1) echo oops ;; 2) sleep 1000 ;; *) echo $x ;; esac; done", true);
  moody.timeout = 300ms;
  const auto filter = make(moody);
  check_fails(filter->call({number(1)}), Code::kInvalidArgument, "command 'sh' printed text that is not JSON: 'oops'");
  check_fails(filter->call({number(2)}), Code::kDeadlineExceeded, "command 'sh' did not answer in time");
  CHECK(value_of(filter->call({number(3)})) == 3);
}

TEST_CASE("filter: it is gone with its function, and so is what it had started") {
  pid_t leader = 0;
  {
    const auto filter = make(shell("sleep 1000 & while read x; do echo $$; done", true));
    leader = value_of(filter->call({number(0)}));
    CHECK(::kill(leader, 0) == 0);
  }
  CHECK(::kill(leader, 0) != 0);
}

TEST_CASE("filter: one that waits for a call ends when it is stopped, and another answers the next call") {
  const auto stop = std::make_shared<const command::CommandStop>();
  auto place = here();
  place.stop = stop;
  const auto filter = function::make_command_function(shell("while read x; do echo $$; done", true), place, kOneToOne);
  const pid_t first = value_of(filter->call({number(0)}));
  const int pidfd = static_cast<int>(::syscall(SYS_pidfd_open, first, 0U));
  REQUIRE(pidfd >= 0);
  stop->request();
  pollfd ended{pidfd, POLLIN, 0};
  CHECK(::poll(&ended, 1, 20000) == 1);
  ::close(pidfd);
  stop->clear();
  CHECK(value_of(filter->call({number(0)})) != first);
}
