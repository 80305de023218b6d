// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "tfd/cli/progress.hpp"

using tfd::cli::Io;
using tfd::cli::Output;
using tfd::cli::Progress;

namespace {

/// A pseudo-terminal of 40 columns.
struct Terminal {
  int master = -1;
  int slave = -1;
  Terminal() {
    master = ::posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
    REQUIRE(master >= 0);
    REQUIRE(::grantpt(master) == 0);
    REQUIRE(::unlockpt(master) == 0);
    slave = ::open(::ptsname(master), O_RDWR | O_NOCTTY | O_CLOEXEC);
    REQUIRE(slave >= 0);
    const winsize size{.ws_row = 24, .ws_col = 40, .ws_xpixel = 0, .ws_ypixel = 0};
    REQUIRE(::ioctl(slave, TIOCSWINSZ, &size) == 0);
  }
  ~Terminal() {
    ::close(slave);
    ::close(master);
  }
  /// All that was written so far.
  std::string text() const {
    std::string all;
    for (pollfd ready{master, POLLIN, 0}; ::poll(&ready, 1, 0) == 1;) {
      char piece[512];
      const ssize_t got = ::read(master, piece, sizeof piece);
      if (got <= 0) break;
      all.append(piece, static_cast<std::size_t>(got));
    }
    return all;
  }
};

}  // namespace

TEST_CASE("progress: on a pipe only changes of state are printed, one line each") {
  std::string err;
  Io io;
  io.err = Output(&err);
  {
    Progress progress(io, "train", 100);
    for (int step = 0; step <= 100; ++step) progress.update(step, "loss 0.3");
    progress.say("worker:1 lost");
    progress.say("worker:1 back");
  }
  CHECK(err == "train: worker:1 lost\ntrain: worker:1 back\n");
}

TEST_CASE("progress: nothing when quiet") {
  std::string err;
  Io io;
  io.err = Output(&err);
  io.quiet = true;
  Progress progress(io, "train", 100);
  progress.update(100, "");
  progress.say("worker:1 lost");
  progress.finish();
  CHECK(err.empty());
}

TEST_CASE("progress: a terminal shows one line that is rewritten, at most ten times a second, and cut to its width") {
  Terminal terminal;
  Io io;
  io.err = Output(terminal.slave);
  Progress progress(io, "train", 100);
  progress.update(1, "loss 0.31");
  CHECK(terminal.text() == "\rtrain [....................] 1/100  los\x1b[K");
  progress.update(2, "too soon");
  CHECK(terminal.text().empty());
  progress.say("worker:1 lost");
  CHECK(terminal.text() == "\r\x1b[Ktrain: worker:1 lost\r\n");
  progress.update(50, "");
  CHECK(terminal.text() == "\rtrain [##########..........] 50/100  \x1b[K");
  progress.update(100, "");  // the last one always
  CHECK(terminal.text() == "\rtrain [####################] 100/100  \x1b[K");
  progress.finish();
  CHECK(terminal.text() == "\r\n");
  progress.finish();
  CHECK(terminal.text().empty());
}
