// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>

#include "tfd/base/file.hpp"
#include "tfd/process/child.hpp"
#include "tfd/process/fd.hpp"
#include "tfd/process/oom_kills.hpp"

#include "temporary_directory.hpp"

using namespace std::chrono_literals;
using namespace tfd;
using namespace tfd::process;

namespace {

Deadline soon() { return Deadline::after(60s); }

Environment base_environment() {
  Environment env;
  env.set("PATH", "/usr/bin:/bin");
  return env;
}

struct Outcome {
  ExitStatus status;
  std::string out;
};

/// Runs to the end with stdout captured.
Outcome run(ChildOptions options) {
  Pipe out = make_pipe().value();
  options.stdout_fd = out.write.get();
  auto child = Child::start(options);
  REQUIRE_MESSAGE(child.has_value(), (child ? "" : child.error().message));
  out.write.reset();
  Outcome outcome;
  outcome.out = read_all(out.read.get(), soon()).value();
  outcome.status = child->wait(soon()).value();
  return outcome;
}

ChildOptions shell(const std::string& script) {
  return {.argv = {"sh", "-c", script}, .environment = base_environment()};
}

}  // namespace

TEST_CASE("child: the environment is the one given, and argv[0] is looked up in its PATH") {
  ChildOptions options = shell("echo $GREETING; env | wc -l");
  options.environment.set("GREETING", "hello");
  const Outcome outcome = run(options);
  CHECK(outcome.out.starts_with("hello\n"));
  CHECK(outcome.status == ExitStatus{0, 0});

  options.environment.set("PATH", "/nonexistent");
  const auto missing = Child::start(options);
  REQUIRE(!missing);
  CHECK(missing.error().code == Code::kNotFound);
  CHECK(missing.error().message == "cannot run sh: command not found");
  CHECK(exit_code_of_start_error(missing.error()) == 127);
}

TEST_CASE("child: exit codes and signals are told apart") {
  CHECK(run(shell("exit 3")).status == ExitStatus{3, 0});
  CHECK(run(shell("kill -9 $$")).status == ExitStatus{137, 9});
  CHECK(describe({3, 0}) == "exited with 3");
  CHECK(describe({137, 9}) == "died of signal 9 (killed)");
  CHECK(describe({139, 11}) == "died of signal 11 (segmentation fault)");
}

TEST_CASE("child: who was killed for want of memory is told from who was killed otherwise") {
  CHECK(oom_file_of("") == "");
  CHECK(oom_file_of("0::/system.slice/a.service\n") == "/sys/fs/cgroup/system.slice/a.service/memory.events");
  CHECK(oom_file_of("0::/\n") == "/sys/fs/cgroup/memory.events");
  CHECK(oom_file_of("4:cpu,memory:/job/1\n1:name=systemd:/x\n0::/y\nbroken\n") ==
        "/sys/fs/cgroup/memory/job/1/memory.oom_control");
  const test::TemporaryDirectory directory;
  const std::string path = directory / "memory.events";
  const auto has_counted = [&](int kills) {
    REQUIRE(save_file(path, fmt::format("oom 9\noom_kill {}\noom_group_kill 7\n", kills)).has_value());
  };
  has_counted(3);
  OomKills kills(path);
  CHECK(!kills.explain({137, 9}).is_oom);
  has_counted(5);
  CHECK(!kills.explain({143, 15}).is_oom);
  CHECK(kills.explain({137, 9}).is_oom);
  CHECK(kills.explain({137, 9}).is_oom);
  CHECK(!kills.explain({137, 9}).is_oom);
  CHECK(!OomKills("").explain({137, 9}).is_oom);
  CHECK(describe({137, 9, true, true}) == "died of signal 9 (killed: out of memory)");
}

TEST_CASE("child: what can't be run is an error at start") {
  const test::TemporaryDirectory directory;
  const std::string plain = directory / "plain";
  REQUIRE(save_file(plain, "#!/bin/sh\nexit 0\n", 0644));
  const auto not_executable = Child::start({.argv = {plain}, .environment = base_environment()});
  REQUIRE(!not_executable);
  CHECK(not_executable.error().code == Code::kPermissionDenied);
  CHECK(exit_code_of_start_error(not_executable.error()) == 126);

  const auto a_directory = Child::start({.argv = {directory.path()}, .environment = base_environment()});
  REQUIRE(!a_directory);
  CHECK(exit_code_of_start_error(a_directory.error()) == 126);

  const auto absent = Child::start({.argv = {directory / "none"}, .environment = base_environment()});
  REQUIRE(!absent);
  CHECK(exit_code_of_start_error(absent.error()) == 127);

  const auto nowhere = Child::start({.argv = {"true"}, .environment = base_environment(), .directory = "/nonexistent"});
  REQUIRE(!nowhere);
  CHECK(nowhere.error().message == "cannot change to directory /nonexistent: no such file or directory");

  CHECK(Child::start({.argv = {}, .environment = {}}).error().code == Code::kInvalidArgument);
  CHECK(Child::start({.argv = {"true"}, .environment = base_environment(), .keep = {{987, 3}}}).error().code ==
        Code::kInvalidArgument);
}

TEST_CASE("child: a script without an interpreter line runs in sh") {
  const test::TemporaryDirectory directory;
  REQUIRE(save_file(directory / "script", "echo \"$1-$2\"\n", 0755));
  ChildOptions options{.argv = {"script", "a", "b"}, .environment = base_environment()};
  options.environment.set("PATH", "/nonexistent:" + directory.path() + ":/usr/bin:/bin");
  CHECK(run(options).out == "a-b\n");
}

TEST_CASE("child: only named descriptors are inherited, under their numbers") {
  const Pipe first = make_pipe().value();
  const Pipe second = make_pipe().value();
  // One without close-on-exec, as a careless library leaves it.
  const Fd leaked(::dup(first.read.get()));
  ChildOptions options = shell("ls /proc/self/fd | tr '\\n' ' '; echo a >&4; echo b >&7");
  // Targets that cross over other sources on purpose.
  options.keep = {{second.write.get(), 4}, {first.write.get(), 7}};
  const Outcome outcome = run(options);
  CHECK(outcome.out == "0 1 2 3 4 7 ");  // 3 is the directory that ls reads
  char letter = 0;
  REQUIRE(::read(second.read.get(), &letter, 1) == 1);
  CHECK(letter == 'a');
  REQUIRE(::read(first.read.get(), &letter, 1) == 1);
  CHECK(letter == 'b');
}

TEST_CASE("child: with shared descriptors it has all that aren't closed on exec") {
  const Pipe pipe = make_pipe().value();
  const Fd open(::dup(pipe.write.get()));
  ChildOptions options = shell(fmt::format("echo c >&{} && test ! -e /proc/self/fd/{}", open.get(), pipe.write.get()));
  CHECK(run(options).status.code != 0);
  options.shares_descriptors = true;
  CHECK(run(options).status.code == 0);
  char letter = 0;
  REQUIRE(::read(pipe.read.get(), &letter, 1) == 1);
  CHECK(letter == 'c');
}

TEST_CASE("child: descriptors may be swapped") {
  const Pipe first = make_pipe().value();
  const Pipe second = make_pipe().value();
  const int a = first.write.get();
  const int b = second.write.get();
  if (a > 9 || b > 9) return;  // dash reads only one digit in a redirection
  ChildOptions options = shell(fmt::format("echo a >&{}; echo b >&{}", b, a));
  options.keep = {{a, b}, {b, a}};
  run(options);
  char letter = 0;
  REQUIRE(::read(first.read.get(), &letter, 1) == 1);
  CHECK(letter == 'a');
  REQUIRE(::read(second.read.get(), &letter, 1) == 1);
  CHECK(letter == 'b');
}

TEST_CASE("child: stdin is /dev/null unless given") {
  CHECK(run(shell("cat; readlink /proc/self/fd/0")).out == "/dev/null\n");
  Pipe in = make_pipe().value();
  REQUIRE(::write(in.write.get(), "words", 5) == 5);
  in.write.reset();
  ChildOptions options = shell("cat");
  options.stdin_fd = in.read.get();
  CHECK(run(options).out == "words");
}

TEST_CASE("child: blocked signals and an ignored SIGPIPE are not inherited") {
  sigset_t set, before;
  sigemptyset(&set);
  sigaddset(&set, SIGTERM);
  pthread_sigmask(SIG_BLOCK, &set, &before);
  const auto old = ::signal(SIGPIPE, SIG_IGN);
  const Outcome outcome = run(shell("grep -E '^Sig(Blk|Ign)' /proc/self/status"));
  ::signal(SIGPIPE, old);
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  CHECK(outcome.out.find("SigBlk:\t0000000000000000") != std::string::npos);
  const auto ignored = std::stoull(outcome.out.substr(outcome.out.find("SigIgn:\t") + 8), nullptr, 16);
  CHECK((ignored & (1ULL << (SIGPIPE - 1))) == 0);
}

TEST_CASE("child: it leads a process group of its own, or stays in ours") {
  auto own = Child::start(shell("exec sleep 60")).value();
  CHECK(::getpgid(own.pid()) == own.pid());
  ChildOptions options = shell("exec sleep 60");
  options.new_group = false;
  auto ours = Child::start(options).value();
  CHECK(::getpgid(ours.pid()) == ::getpgrp());
}

TEST_CASE("child: poll and wait, and end_fd() says when") {
  auto child = Child::start(shell("exec sleep 60")).value();
  CHECK(child.running());
  CHECK(!child.poll());
  CHECK(child.wait(Deadline::after(1ms)).error().code == Code::kDeadlineExceeded);
  child.signal(SIGTERM);
  pollfd ended{child.end_fd(), POLLIN, 0};
  CHECK(::poll(&ended, 1, 30000) == 1);
  CHECK(child.poll() == ExitStatus{143, 15});
  CHECK(child.poll() == ExitStatus{143, 15});
  CHECK(!child.running());
  child.signal(SIGTERM);  // harmless
}

TEST_CASE("child: one that somebody else has reaped didn't exit with 0") {
  auto child = Child::start(shell("exit 0")).value();
  REQUIRE(::waitpid(child.pid(), nullptr, 0) == child.pid());
  const auto status = child.poll();
  REQUIRE(status.has_value());
  CHECK(*status == ExitStatus::unknown());
  CHECK(status->code != 0);
  CHECK(describe(*status) == "ended, and its exit code is lost");
  CHECK_FALSE(child.running());
  CHECK(child.wait(soon()).value() == *status);
}

TEST_CASE("child: the destructor ends it, and moving keeps it") {
  pid_t pid = 0;
  {
    auto child = Child::start(shell("exec sleep 60")).value();
    Child moved = std::move(child);
    pid = moved.pid();
    CHECK(::kill(pid, 0) == 0);
  }
  CHECK((::kill(pid, 0) == -1 && errno == ESRCH));
}

TEST_CASE("child: it dies with its parent") {
  // A parent in between, which is killed: the grandchild holds a pipe open as long as it lives.
  Pipe alive = make_pipe().value();
  Pipe started = make_pipe().value();
  const pid_t parent = ::fork();
  REQUIRE(parent >= 0);
  if (parent == 0) {
    ChildOptions options = shell("exec sleep 60");
    options.keep = {{alive.write.get(), 5}};
    const auto child = Child::start(options);
    alive.write.reset();
    if (child) [[maybe_unused]]
      const auto written = ::write(started.write.get(), "x", 1);
    for (;;) ::pause();
  }
  alive.write.reset();
  started.write.reset();
  char letter = 0;
  REQUIRE(::read(started.read.get(), &letter, 1) == 1);
  CHECK(!read_all(alive.read.get(), Deadline::after(20ms)));
  ::kill(parent, SIGKILL);
  CHECK(read_all(alive.read.get(), soon()).value() == "");
  ::waitpid(parent, nullptr, 0);
}

TEST_CASE("child: a hundred starts leave no descriptor and no zombie") {
  const auto count_fds = [] {
    return std::distance(std::filesystem::directory_iterator("/proc/self/fd"), std::filesystem::directory_iterator());
  };
  const auto before = count_fds();
  for (int i = 0; i < 100; ++i)
    CHECK(Child::start({.argv = {"true"}, .environment = base_environment()}).value().wait(soon()).value().code == 0);
  CHECK(count_fds() == before);
  CHECK(::waitpid(-1, nullptr, WNOHANG) == -1);
}
