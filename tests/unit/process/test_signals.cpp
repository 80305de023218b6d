// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>

#include "tfd/process/signals.hpp"

using namespace tfd;
using namespace tfd::process;

TEST_CASE("signals: a blocked signal is read, once, and next() never blocks") {
  sigset_t before;
  pthread_sigmask(SIG_SETMASK, nullptr, &before);
  auto source = SignalSource::make(std::array{SIGUSR1, SIGUSR2}).value();
  CHECK(!source.next());
  ::kill(::getpid(), SIGUSR2);
  pollfd ready{source.fd(), POLLIN, 0};
  CHECK(::poll(&ready, 1, 10000) == 1);
  const auto info = source.next_info();
  REQUIRE(info);
  CHECK(info->number == SIGUSR2);
  CHECK(!info->from_terminal);
  CHECK(!source.next());
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

TEST_CASE("signals: an ignored signal stays ignored") {
  sigset_t before;
  pthread_sigmask(SIG_SETMASK, nullptr, &before);
  const auto old = ::signal(SIGHUP, SIG_IGN);
  auto source = SignalSource::make(std::array{SIGHUP}).value();
  ::kill(::getpid(), SIGHUP);
  CHECK(!source.next());
  ::signal(SIGHUP, old);
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

TEST_CASE("signals: dying of a signal looks so to the parent, though it was blocked and handled") {
  const pid_t pid = ::fork();
  REQUIRE(pid >= 0);
  if (pid == 0) {
    ::signal(SIGINT, [](int) {});
    const auto source = SignalSource::make(std::array{SIGINT});
    die_of_signal(SIGINT);
  }
  int status = 0;
  REQUIRE(::waitpid(pid, &status, 0) == pid);
  CHECK(WIFSIGNALED(status));
  CHECK(WTERMSIG(status) == SIGINT);
}
