// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>

#include "tfd/process/fd.hpp"

using namespace std::chrono_literals;
using namespace tfd;
using namespace tfd::process;
namespace fs = std::filesystem;

namespace {

struct TemporaryDirectory {
  std::string path = fs::temp_directory_path() / "tfd-process-XXXXXX";
  TemporaryDirectory() { REQUIRE(::mkdtemp(path.data()) != nullptr); }
  ~TemporaryDirectory() { fs::remove_all(path); }
};

}  // namespace

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
  const TemporaryDirectory directory;
  REQUIRE(save_file(directory.path + "/f", "x"));
  const Fd file(::open((directory.path + "/f").c_str(), O_RDONLY | O_CLOEXEC));
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

TEST_CASE("fd: a saved file replaces the old one, has its mode and leaves nothing beside it") {
  const TemporaryDirectory directory;
  const std::string path = directory.path + "/spec.json";
  const mode_t umask_before = ::umask(022);
  REQUIRE(save_file(path, "one", 0600));
  CHECK((fs::status(path).permissions() & fs::perms::mask) == static_cast<fs::perms>(0600));
  REQUIRE(save_file(path, std::string(300000, 'x')));
  ::umask(umask_before);
  CHECK((fs::status(path).permissions() & fs::perms::mask) == static_cast<fs::perms>(0644));
  CHECK(load_file(path).value() == std::string(300000, 'x'));
  CHECK(std::distance(fs::directory_iterator(directory.path), fs::directory_iterator()) == 1);
}

TEST_CASE("fd: a saved file keeps a symbolic link, and writes into what is no file") {
  const TemporaryDirectory directory;
  const std::string target = directory.path + "/target", link = directory.path + "/link";
  REQUIRE(save_file(target, "old"));
  fs::create_symlink("target", link);
  REQUIRE(save_file(link, "new"));
  CHECK(fs::is_symlink(link));
  CHECK(load_file(target).value() == "new");
  CHECK(save_file("/dev/null", "gone").has_value());
  CHECK(fs::is_character_file("/dev/null"));
}

TEST_CASE("fd: files that can't be read or written say which and why") {
  const TemporaryDirectory directory;
  CHECK(load_file("/nonexistent/x").error().message == "cannot open /nonexistent/x: no such file or directory");
  CHECK(load_file("/nonexistent/x").error().code == Code::kNotFound);
  CHECK(load_file(directory.path).error().message == "cannot read " + directory.path + ": is a directory");
  CHECK(save_file("/nonexistent/x", "").error().message == "cannot create /nonexistent/x: no such file or directory");
  CHECK(save_file(directory.path, "").error().message == "cannot write " + directory.path + ": is a directory");
  REQUIRE(save_file(directory.path + "/large", "12345"));
  CHECK(load_file(directory.path + "/large", 4).error().code == Code::kResourceExhausted);
  CHECK(load_file(directory.path + "/large", 5).value() == "12345");
}
