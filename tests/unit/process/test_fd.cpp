// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>

#include "tfd/base/file.hpp"
#include "tfd/process/fd.hpp"

#include "temporary_directory.hpp"

using namespace std::chrono_literals;
using namespace tfd;
using namespace tfd::process;

TEST_CASE("fd: a descriptor is closed once, by its last owner") {
  Pipe pipe = make_pipe().value();
  CHECK((::fcntl(pipe.read.get(), F_GETFD) & FD_CLOEXEC) != 0);
  const int number = pipe.read.get();
  {
    const Fd moved = std::move(pipe.read);
    CHECK(!pipe.read);
    CHECK(moved.get() == number);
  }
  CHECK(::fcntl(number, F_GETFD) == -1);
}

TEST_CASE("fd: a reader that goes is seen on a pipe, a full pipe and a socket") {
  Pipe pipe = make_pipe().value();
  CHECK(has_reader(pipe.write.get()));
  CHECK(!reader_is_gone(pipe.write.get()));
  pipe.read.reset();
  CHECK(reader_is_gone(pipe.write.get()));

  Pipe full = make_pipe().value();
  ::fcntl(full.write.get(), F_SETFL, O_NONBLOCK);
  const std::string block(4096, 'x');
  while (::write(full.write.get(), block.data(), block.size()) > 0) {
  }
  CHECK(!reader_is_gone(full.write.get()));
  full.read.reset();
  CHECK(reader_is_gone(full.write.get()));

  int sockets[2];
  REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets) == 0);
  Fd ours(sockets[0]), theirs(sockets[1]);
  CHECK(has_reader(ours.get()));
  CHECK(!reader_is_gone(ours.get()));
  theirs.reset();
  CHECK(reader_is_gone(ours.get()));
}

TEST_CASE("fd: files and /dev/null have no reader that could go") {
  const Fd null(::open("/dev/null", O_RDWR | O_CLOEXEC));
  CHECK(!has_reader(null.get()));
  CHECK(!reader_is_gone(null.get()));
  CHECK(!is_data_source(null.get()));
  CHECK(!is_data_source(-1));
  const test::TemporaryDirectory directory;
  REQUIRE(save_file(directory / "f", "x"));
  const Fd file(::open((directory / "f").c_str(), O_RDONLY | O_CLOEXEC));
  CHECK(is_data_source(file.get()));
  CHECK(!has_reader(file.get()));
  const Pipe pipe = make_pipe().value();
  CHECK(is_data_source(pipe.read.get()));
}

TEST_CASE("fd: read_all ends at the end of file, at the deadline and at the limit") {
  Pipe pipe = make_pipe().value();
  REQUIRE(::write(pipe.write.get(), "abc", 3) == 3);
  CHECK(read_all(pipe.read.get(), Deadline::after(10ms)).error().code == Code::kDeadlineExceeded);
  REQUIRE(::write(pipe.write.get(), "defg", 4) == 4);
  CHECK(read_all(pipe.read.get(), Deadline::after(10s), 3).error().code == Code::kResourceExhausted);
  REQUIRE(::write(pipe.write.get(), "hij", 3) == 3);
  pipe.write.reset();
  CHECK(read_all(pipe.read.get(), Deadline::after(10s)).value() == "hij");
}
