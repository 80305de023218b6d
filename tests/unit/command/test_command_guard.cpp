// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <functional>
#include <string>

#include "commands.hpp"
#include "temporary_directory.hpp"
#include "tfd/process/child.hpp"

using namespace tfd;
using namespace tfd::command;
using namespace tfd::command::test;

TEST_CASE("guard: kills the groups that it knows when its owner is killed") {
  // A process that owns a guard and a command is killed; the command's group goes with it.
  int report[2];
  REQUIRE(::pipe(report) == 0);
  const pid_t owner = ::fork();
  if (owner == 0) {
    const auto guard = process::GroupGuard::start();
    process::ChildOptions options{.argv = {"sleep", "1000"}, .environment = Environment::of_process()};
    options.death_signal = 0;  // so that only the guard can
    options.announce_fd = (*guard)->fd();
    const auto child = process::Child::start(options);
    const pid_t pid = child->pid();
    [[maybe_unused]] const auto written = ::write(report[1], &pid, sizeof pid);
    for (;;) ::pause();
  }
  pid_t command = 0;
  REQUIRE(::read(report[0], &command, sizeof command) == sizeof command);
  const int pidfd = static_cast<int>(::syscall(SYS_pidfd_open, command, 0U));
  REQUIRE(pidfd >= 0);
  ::kill(owner, SIGKILL);
  pollfd ended{pidfd, POLLIN, 0};
  CHECK(::poll(&ended, 1, 20000) == 1);
  ::waitpid(owner, nullptr, 0);
  for (const int fd : {pidfd, report[0], report[1]}) ::close(fd);
}

namespace {

/// Runs `body` in a process of its own, which is killed while it does: whoever it has started is gone then. All of them
/// have the FIFO open.
void check_nobody_is_left(const std::string& fifo, const std::function<void()>& body) {
  const int held = ::open(fifo.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  const int own = ::open(fifo.c_str(), O_WRONLY | O_CLOEXEC);
  REQUIRE(own >= 0);
  const pid_t owner = ::fork();
  if (owner == 0) {
    body();
    ::_exit(1);
  }
  ::close(own);
  int status = 0;
  REQUIRE(::waitpid(owner, &status, 0) == owner);
  CHECK(WIFSIGNALED(status));
  pollfd gone{held, 0, 0};  // POLLHUP: nobody has it open
  CHECK(::poll(&gone, 1, 20000) == 1);
  ::close(held);
}

}  // namespace

TEST_CASE("guard: of a process that is killed as soon as it has started a command nothing is left") {
  const tfd::test::TemporaryDirectory directory;
  const std::string fifo = directory / "held";
  REQUIRE(::mkfifo(fifo.c_str(), 0600) == 0);
  for (int round = 0; round < 30; ++round) {
    // The guard ends by itself, while the command may be at any point.
    check_nobody_is_left(fifo, [&] {
      const auto guard = process::GroupGuard::start();
      process::ChildOptions options{.argv = {"sh", "-c", "exec 3>" + fifo + "; sleep 1000 & wait"},
                                    .environment = Environment::of_process()};
      options.announce_fd = (*guard)->fd();
      const auto child = process::Child::start(options);
      ::raise(SIGKILL);
    });
    // The command ends it, once it has started something.
    check_nobody_is_left(fifo, [&] {
      const auto guard = process::GroupGuard::start();
      auto command = CommandProcess::start(shell("exec 3>" + fifo + "; sleep 1000 & kill -KILL $PPID; wait"),
                                           {.environment = Environment::of_process(), .guard = *guard});
      (void)command->exchange("1\n", kMost, soon());
    });
  }
}

TEST_CASE("guard: what could not be started is none of its groups") {
  int told[2];
  REQUIRE(::pipe(told) == 0);
  process::ChildOptions options{.argv = {"/nonexistent/command"}, .environment = Environment::of_process()};
  options.announce_fd = told[1];
  CHECK_FALSE(process::Child::start(options).has_value());
  pid_t said[2] = {};
  REQUIRE(::read(told[0], said, sizeof said) == sizeof said);
  CHECK(said[0] > 0);
  CHECK(said[1] == -said[0]);
  for (const int fd : told) ::close(fd);
}
