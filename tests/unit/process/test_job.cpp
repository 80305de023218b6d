// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <string>
#include <utility>

#include "tfd/process/job.hpp"

using namespace std::chrono_literals;
using namespace tfd;
using namespace tfd::process;

namespace {

JobOptions sh_job(const std::string& script) {
  return {.child = {.argv = {"sh", "-c", script}, .environment = Environment::of_process()}};
}

Job start_job(JobOptions options) {
  auto job = Job::start(std::move(options));
  if (!job) FAIL(job.error().message);
  return std::move(*job);
}

/// The next line of a pipe.
std::string read_line(int fd) {
  std::string line;
  for (char byte = 0; byte != '\n'; line += byte) {
    pollfd ready{fd, POLLIN, 0};
    REQUIRE(::poll(&ready, 1, 20000) == 1);
    REQUIRE(::read(fd, &byte, 1) == 1);
  }
  return line.substr(0, line.size() - 1);
}

pid_t read_pid(int fd) { return static_cast<pid_t>(std::stol(read_line(fd))); }

/// Everything that a group prints, up to its last process's end.
std::string read_rest(int fd) { return read_all(fd, Deadline::after(20s)).value_or("no end of file"); }

bool is_gone(pid_t pid) { return ::kill(pid, 0) != 0 && errno == ESRCH; }

}  // namespace

TEST_CASE("job: its output and its errors come through pipes, and its input goes through one") {
  JobOptions options = sh_job("read x; echo got $x; echo error >&2; exit 3");
  options.pipes_input = true;
  Job job = start_job(std::move(options));
  REQUIRE(::send(job.in.get(), "it\n", 3, MSG_NOSIGNAL) == 3);
  CHECK(read_rest(job.out.get()) == "got it\n");
  CHECK(read_rest(job.err.get()) == "error\n");
  CHECK(job.wait(Deadline::after(20s)) == ExitStatus{3, 0});
}

TEST_CASE("job: without a pipe its input is empty and its errors are the given descriptor") {
  Pipe errors = make_pipe().value();
  JobOptions options = sh_job("cat; echo error >&2");
  options.pipes_errors = false;
  options.child.stderr_fd = errors.write.get();
  Job job = start_job(std::move(options));
  errors.write.reset();
  CHECK_FALSE(job.in);
  CHECK_FALSE(job.err);
  CHECK(read_rest(job.out.get()).empty());
  CHECK(read_rest(errors.read.get()) == "error\n");
  CHECK(job.finish().code == 0);
}

TEST_CASE("job: writing to a command that has closed its input is an error, not a signal") {
  JobOptions options = sh_job("exec <&-; echo closed");
  options.pipes_input = true;
  Job job = start_job(std::move(options));
  CHECK(read_rest(job.out.get()) == "closed\n");
  const bool is_refused = ::send(job.in.get(), "x", 1, MSG_NOSIGNAL) < 0 && errno == EPIPE;
  CHECK(is_refused);
}

TEST_CASE("job: a command that can't be run is an error") {
  const auto job = Job::start({.child = {.argv = {"no-such-command-of-tfd"}}});
  REQUIRE_FALSE(job.has_value());
  CHECK(job.error().code == Code::kNotFound);
}

TEST_CASE("job: SIGTERM reaches the whole group, and one that ends after it keeps its exit code") {
  Job job =
      start_job(sh_job("trap 'exit 7' TERM; (trap 'echo child; exit' TERM; echo ready; while :; do sleep 0.1; done) & "
                       "echo ready; wait"));
  for (int i = 0; i < 2; ++i) CHECK(read_line(job.out.get()) == "ready");
  job.terminate();
  CHECK(job.has_ended(Deadline::after(20s)));
  CHECK(job.wait(Deadline::after(20s)) == ExitStatus{7, 0});
  CHECK(read_rest(job.out.get()) == "child\n");
}

TEST_CASE("job: one that ignores SIGTERM still runs after the grace period, and finish() kills it") {
  Job job = start_job(sh_job("trap '' TERM; echo ready; while :; do sleep 1000; done"));
  CHECK(read_line(job.out.get()) == "ready");
  job.ask_to_end();
  CHECK_FALSE(job.has_ended(Deadline::after(Duration::zero())));
  CHECK(job.finish() == ExitStatus{128 + SIGKILL, SIGKILL});
  CHECK(read_rest(job.out.get()).empty());
}

TEST_CASE("job: finish() kills what the leader has left, wait() lets it run") {
  Job killed = start_job(sh_job("sleep 1000 & echo $!"));
  CHECK_FALSE(is_gone(read_pid(killed.out.get())));
  REQUIRE(killed.has_ended(Deadline::after(20s)));
  CHECK(killed.finish().code == 0);
  CHECK(read_rest(killed.out.get()).empty());

  Pipe hold = make_pipe().value(), answer = make_pipe().value();
  JobOptions options = sh_job("(read x <&5; echo alive >&6) &");
  options.child.keep = {{hold.read.get(), 5}, {answer.write.get(), 6}};
  Job left = start_job(std::move(options));
  CHECK(left.wait(Deadline::after(20s)) == ExitStatus{0, 0});
  hold.write.reset();  // it reads the end of the file only now
  CHECK(read_line(answer.read.get()) == "alive");
}

TEST_CASE("job: wait() says that it still runs, and the end of the Job kills the group") {
  Pipe held = make_pipe().value();
  {
    JobOptions options = sh_job("sleep 1000 & sleep 1000");
    options.child.keep = {{held.write.get(), 5}};
    Job job = start_job(std::move(options));
    held.write.reset();
    const auto status = job.wait(Deadline::after(Duration::zero()));
    REQUIRE_FALSE(status.has_value());
    CHECK(status.error().code == Code::kDeadlineExceeded);
    Job moved = std::move(job);
    CHECK_FALSE(moved.has_ended(Deadline::after(Duration::zero())));
  }
  CHECK(read_rest(held.read.get()).empty());  // nobody has the other end
}

TEST_CASE("job: the guard kills the group of a process that is killed") {
  Pipe held = make_pipe().value();
  const pid_t owner = ::fork();
  if (owner == 0) {
    held.read.reset();
    JobOptions options = sh_job("sleep 1000 & kill -KILL $PPID; wait");
    options.child.keep = {{held.write.get(), 5}};
    options.child.death_signal = 0;  // so that only the guard can
    options.guard = GroupGuard::start().value();
    const Job job = start_job(std::move(options));
    job.has_ended(Deadline::never());
    ::_exit(1);
  }
  held.write.reset();
  int status = 0;
  REQUIRE(::waitpid(owner, &status, 0) == owner);
  CHECK(WIFSIGNALED(status));
  CHECK(read_rest(held.read.get()).empty());  // nobody has the other end
}
