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
using tfd::cli::progress_line;
using tfd::cli::ProgressView;
using tfd::cli::Rate;

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

Io on(const Terminal& terminal, const char* kind) {
  Io io;
  io.err = Output(terminal.slave);
  io.env.set("TERM", kind);
  return io;
}

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

TEST_CASE("progress: a terminal shows one line that is rewritten, at most ten times a second, and fits its width") {
  Terminal terminal;
  Io io = on(terminal, "xterm");
  Progress progress(io, "train", 100);
  progress.update(1, "loss 0.31");
  CHECK(terminal.text() == "\rtrain [..............] 1/100  loss 0.31\x1b[K");
  progress.update(2, "too soon");
  CHECK(terminal.text().empty());
  progress.say("worker:1 lost");
  CHECK(terminal.text() == "\r\x1b[Ktrain: worker:1 lost\r\n\rtrain [..............] 1/100  loss 0.31\x1b[K");
  progress.update(100, "");  // the last one always
  CHECK(terminal.text() == "\rtrain [####################] 100/100\x1b[K");
  progress.finish();
  CHECK(terminal.text() == "\r\n");
  progress.finish();
  CHECK(terminal.text().empty());
}

TEST_CASE("progress: what is printed on the same terminal erases the bar, which is drawn again behind it") {
  Terminal terminal;
  Io io = on(terminal, "xterm");
  io.out = Output(terminal.slave);
  Progress progress(io, "train", 8);
  CHECK(io.out.write("before\n"));
  CHECK(terminal.text() == "before\r\n");
  progress.update(2, "");
  const std::string bar = "\rtrain [#####...............] 2/8\x1b[K";
  CHECK(terminal.text() == bar);
  CHECK(io.out.write("{\"event\":\"step\"}\n"));
  CHECK(terminal.text() == "\r\x1b[K{\"event\":\"step\"}\r\n" + bar);
  CHECK(io.out.write("half a line"));
  CHECK(terminal.text() == "\r\x1b[Khalf a line");
  progress.finish();
  CHECK(terminal.text() == "\r\n");
  CHECK(io.out.write("after\n"));
  CHECK(terminal.text() == "after\r\n");
}

TEST_CASE("progress: a bar that isn't full is erased at the end") {
  Terminal terminal;
  Io io = on(terminal, "xterm");
  Progress progress(io, "train", 8);
  progress.update(2, "");
  (void)terminal.text();
  progress.finish();
  CHECK(terminal.text() == "\r\x1b[K");
  CHECK(io.err.write("interrupted\n"));
  CHECK(terminal.text() == "interrupted\r\n");
}

TEST_CASE("progress: stdout that is no terminal, or another one, leaves the bar alone") {
  Terminal terminal, other;
  Io io = on(terminal, "xterm");
  io.out = Output(other.slave);
  Progress progress(io, "train", 8);
  progress.update(2, "");
  (void)terminal.text();
  CHECK(io.out.write("event\n"));
  CHECK(terminal.text().empty());
  CHECK(other.text() == "event\r\n");
}

TEST_CASE("progress: a terminal that can't rewrite gets lines and no escape sequences") {
  for (const char* kind : {"dumb", ""}) {
    Terminal terminal;
    Io io = on(terminal, kind);
    io.out = Output(terminal.slave);
    Progress progress(io, "train", 8);
    progress.update(1, "loss 0.31");
    progress.update(2, "too soon");
    CHECK(io.out.write("event\n"));
    progress.update(8, "loss 0.2");
    progress.finish();
    CHECK(terminal.text() == "train: 1/8  loss 0.31\r\nevent\r\ntrain: 8/8  loss 0.2\r\n");
  }
}

TEST_CASE("progress: a line has a rate and the time left, and what doesn't fit goes") {
  const ProgressView view{"tfd-run", 4107, 40000, 650, "loss 0.00759"};
  CHECK(progress_line(view, 120) == "tfd-run [##..................] 4107/40000  650/s  ETA 0:56  loss 0.00759");
  CHECK(progress_line(view, 62) == "tfd-run [#.........] 4107/40000  650/s  ETA 0:56  loss 0.00759");
  CHECK(progress_line(view, 55) == "tfd-run 4107/40000  650/s  ETA 0:56  loss 0.00759");
  CHECK(progress_line(view, 30) == "tfd-run 4107/40000  650/s  ETA");
  CHECK(progress_line({"x", 5, 0, 12.4, ""}, 80) == "x 5  12/s");
  CHECK(progress_line({"x", 5, 0, 13810.4, ""}, 80) == "x 5  13 810/s");
  CHECK(progress_line({"x", 5, 10, 0.5, ""}, 20) == "x 5/10  0.5/s  ETA 0");
  CHECK(progress_line({"x", 5, 10, 0.01, ""}, 80) == "x [##########..........] 5/10  0.6/min  ETA 8:20");
  CHECK(progress_line({"x", 0, 9000, 1, ""}, 36) == "x [.....] 0/9000  1.0/s  ETA 2:30:00");
  CHECK(progress_line({"x", 0, 900'000, 10, ""}, 34) == "x 0/900000  10/s  ETA 1d 1:00:00");
  CHECK(progress_line({"x", 1, 0, 0, "žluť 1"}, 8) == "x 1  žlu");
}

TEST_CASE("progress: the rate is that of the last ten seconds") {
  using namespace std::chrono_literals;
  const Rate::Time start{};
  Rate rate;
  rate.add(start - 60s, 999);
  CHECK(rate.per_second() == 0);
  rate.add(start, 1000);  // the first step, and a minute of compiling before it
  CHECK(rate.per_second() == 0);
  rate.add(start + 100ms, 1010);
  CHECK(rate.per_second() == 0);  // too short to tell
  rate.add(start + 1s, 1100);
  CHECK(rate.per_second() == doctest::Approx(100));
  for (int second = 2; second <= 30; ++second) rate.add(start + second * 1s, 1100 + (second - 1) * 10);
  CHECK(rate.per_second() == doctest::Approx(10));
  rate.add(start + 31s, 5);  // it began again
  CHECK(rate.per_second() == 0);
  rate.add(start + 90s, 6);
  CHECK(rate.per_second() == 0);
  rate.add(start + 92s, 46);
  CHECK(rate.per_second() == doctest::Approx(20));
}
