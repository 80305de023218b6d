// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <string>
#include <thread>

#include "tfd/cli/tool.hpp"

using tfd::Code;
using tfd::cli::Output;

namespace {

struct Pipe {
  int read = -1;
  int write = -1;
  explicit Pipe(int flags = O_CLOEXEC) {
    int ends[2];
    REQUIRE(::pipe2(ends, flags) == 0);
    read = ends[0];
    write = ends[1];
  }
  ~Pipe() {
    ::close(read);
    if (write >= 0) ::close(write);
  }
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;
};

/// Drains `fd` in small pieces.
std::string drain(int fd) {
  std::string all;
  char piece[1000];
  for (ssize_t got; (got = ::read(fd, piece, sizeof piece)) > 0;) all.append(piece, static_cast<std::size_t>(got));
  return all;
}

std::string large_text() {
  std::string text(1 << 20, ' ');
  for (std::size_t i = 0; i < text.size(); ++i) text[i] = static_cast<char>('a' + i % 23);
  return text;
}

}  // namespace

TEST_CASE("cli: output to a full non-blocking pipe waits for the reader and loses nothing") {
  Pipe pipe;
  REQUIRE(::fcntl(pipe.write, F_SETFL, O_NONBLOCK) == 0);
  const std::string text = large_text();
  std::string got;
  std::thread reader([&] { got = drain(pipe.read); });
  CHECK(Output(pipe.write).write(text));
  ::close(std::exchange(pipe.write, -1));
  reader.join();
  CHECK(got == text);
}

TEST_CASE("cli: output interrupted by signals loses nothing") {
  struct sigaction action {};
  struct sigaction before {};
  action.sa_handler = [](int) {};  // no SA_RESTART: write() returns EINTR or short
  REQUIRE(::sigaction(SIGUSR1, &action, &before) == 0);
  Pipe pipe;
  const std::string text = large_text();
  std::string got;
  const pthread_t writer = ::pthread_self();
  std::thread reader([&] {
    char piece[777];
    for (ssize_t count; (count = ::read(pipe.read, piece, sizeof piece)) > 0;) {
      if (got.size() < (1 << 19)) ::pthread_kill(writer, SIGUSR1);  // the writer is still at it: it has more to write
      got.append(piece, static_cast<std::size_t>(count));
    }
  });
  CHECK(Output(pipe.write).write(text));
  ::close(std::exchange(pipe.write, -1));
  reader.join();
  REQUIRE(::sigaction(SIGUSR1, &before, nullptr) == 0);
  CHECK(got == text);
}

TEST_CASE("cli: a reader that is gone is unavailable, a full disk is no resource") {
  auto before = std::signal(SIGPIPE, SIG_IGN);
  Pipe pipe;
  ::close(pipe.read);
  const auto gone = Output(pipe.write).write("x");
  REQUIRE_FALSE(gone);
  CHECK(gone.error().code == Code::kUnavailable);
  (void)std::signal(SIGPIPE, before);

  const int full = ::open("/dev/full", O_WRONLY | O_CLOEXEC);
  if (full >= 0) {
    const auto failed = Output(full).write("x");
    REQUIRE_FALSE(failed);
    CHECK(failed.error().code == Code::kResourceExhausted);
    ::close(full);
  }
  const auto closed = Output(-1).write("x");
  REQUIRE_FALSE(closed);
  CHECK(closed.error().code == Code::kSystem);
}
