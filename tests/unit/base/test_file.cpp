// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <thread>

#include "tfd/base/direct_writer.hpp"
#include "tfd/base/file.hpp"

#include "temporary_directory.hpp"

using namespace tfd;
using test::TemporaryDirectory;
namespace fs = std::filesystem;

namespace {

fs::perms mode_of(const std::string& path) { return fs::status(path).permissions() & fs::perms::mask; }

}  // namespace

TEST_CASE("file: a saved file replaces the old one, has its mode and leaves nothing beside it") {
  const TemporaryDirectory directory;
  const std::string path = directory / "spec.json";
  const mode_t umask_before = ::umask(022);
  REQUIRE(save_file(path, "one", 0600));
  CHECK(mode_of(path) == static_cast<fs::perms>(0600));
  REQUIRE(save_file(path, std::string(300000, 'x')));
  ::umask(umask_before);
  CHECK(mode_of(path) == static_cast<fs::perms>(0644));
  CHECK(load_file(path).value() == std::string(300000, 'x'));
  CHECK(directory.names() == std::vector<std::string>{"spec.json"});
}

TEST_CASE("file: pieces are written one after another, none is an empty file") {
  const TemporaryDirectory directory;
  const std::string a("ab"), b, c("c");
  const std::span<const std::byte> pieces[]{std::as_bytes(std::span(a)), std::as_bytes(std::span(b)),
                                            std::as_bytes(std::span(c))};
  REQUIRE(save_file(directory / "x", pieces));
  CHECK(load_file(directory / "x").value() == "abc");
  REQUIRE(save_file(directory / "x", std::string_view()));
  CHECK(load_file(directory / "x").value().empty());
}

TEST_CASE("file: a large one is written past the page cache, whatever its size, its pieces' and its file system") {
  constexpr std::size_t kMiB = std::size_t{1} << 20;
  std::string content(3 * kMiB + 4097, '\0');
  for (std::size_t i = 0; i < content.size(); ++i) content[i] = static_cast<char>(i * 7 + i / 251);
  for (const char* const parent : {".", "/dev/shm"}) {
    const std::string path = fmt::format("{}/tfd-test-{}", parent, ::getpid());
    for (const std::size_t size : {kMiB - 1, kMiB, kMiB + 1, content.size()})
      for (const std::size_t piece : {std::size_t{1009}, 2 * kMiB + 3}) {
        CAPTURE(size);
        CAPTURE(piece);
        const int file = ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
        REQUIRE(file >= 0);
        DirectWriter writer(file);
        const auto bytes = std::as_bytes(std::span(content)).first(size);
        bool puts = false;  // every other piece is put where it lies until it is written
        for (std::size_t at = 0, count = 0; at < size; at += count, puts = !puts) {
          const auto space = writer.space();
          count = std::min({piece, size - at, puts ? space.size() : piece});
          if (puts) std::ranges::copy(bytes.subspan(at, count), space.begin());
          REQUIRE((puts ? writer.put(count) : writer.write(bytes.subspan(at, count))) == 0);
        }
        REQUIRE(writer.finish() == 0);
        ::close(file);
        CHECK(load_file(path).value() == content.substr(0, size));
      }
    fs::remove(path);
  }
}

TEST_CASE("file: a saved file keeps a symbolic link, and writes into what is no file") {
  const TemporaryDirectory directory;
  REQUIRE(save_file(directory / "target", "old"));
  fs::create_symlink("target", directory / "link");
  REQUIRE(save_file(directory / "link", "new"));
  CHECK(fs::is_symlink(directory / "link"));
  CHECK(load_file(directory / "target").value() == "new");
  CHECK(save_file("/dev/null", "gone"));
  CHECK(fs::is_character_file("/dev/null"));
}

TEST_CASE("file: a FIFO is read to its end and written to as it is") {
  const TemporaryDirectory directory;
  const std::string fifo = directory / "fifo";
  REQUIRE(::mkfifo(fifo.c_str(), 0600) == 0);
  Result<void> saved;
  std::jthread writer([&] { saved = save_file(fifo, std::string(200000, 'y')); });
  CHECK(load_file(fifo).value() == std::string(200000, 'y'));
  writer.join();
  CHECK(saved);
  CHECK(fs::is_fifo(fifo));
}

TEST_CASE("file: a name may be as long as names can be") {
  const TemporaryDirectory directory;
  const std::string name(255, 'n');
  CHECK(save_file(directory / name, "x"));
  CHECK(directory.names() == std::vector<std::string>{name});
}

TEST_CASE("file: what can't be read or written says which file and why") {
  const TemporaryDirectory directory;
  CHECK(load_file("/nonexistent/x").error().message == "cannot open /nonexistent/x: no such file or directory");
  CHECK(load_file("/nonexistent/x").error().code == Code::kNotFound);
  CHECK(load_file(directory.path()).error().message == "cannot read " + directory.path() + ": is a directory");
  CHECK(save_file("/nonexistent/x", "").error().message == "cannot write /nonexistent/x: no such file or directory");
  CHECK(save_file("/nonexistent/x", "").error().code == Code::kNotFound);
  CHECK(save_file(directory.path(), "").error().message == "cannot write " + directory.path() + ": is a directory");
  CHECK(save_file("/dev/full", "x").error().message == "cannot write /dev/full: no space left on device");
  REQUIRE(save_file(directory / "large", "12345"));
  CHECK(load_file(directory / "large", 4).error().code == Code::kResourceExhausted);
  CHECK(load_file(directory / "large", 5).value() == "12345");
}

TEST_CASE("file: a write that fails half way leaves the old file as it was and nothing else") {
  const TemporaryDirectory directory;
  // In a child: a file size limit binds the whole process.
  const pid_t child = ::fork();
  if (child == 0) {
    if (!save_file(directory / "x", "old")) ::_exit(1);
    std::signal(SIGXFSZ, SIG_IGN);
    const rlimit limit{65536, 65536};
    if (::setrlimit(RLIMIT_FSIZE, &limit) != 0) ::_exit(2);
    const Result<void> saved = save_file(directory / "x", std::string(1 << 20, 'x'));
    if (saved || saved.error().message != "cannot write " + directory / "x" + ": file too large") ::_exit(3);
    if (load_file(directory / "x").value() != "old") ::_exit(4);
    ::_exit(directory.names() == std::vector<std::string>{"x"} ? 0 : 5);
  }
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  CHECK(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == 0);
}

TEST_CASE("file: no space left on a real file system is RESOURCE_EXHAUSTED") {
  const TemporaryDirectory directory;
  if (::mount("none", directory.path().c_str(), "tmpfs", 0, "size=64k") != 0) {
    MESSAGE("skipped: mounting a small tmpfs needs root");
    return;
  }
  CHECK(save_file(directory / "x", "old"));
  const Result<void> saved = save_file(directory / "x", std::string(1 << 20, 'x'));
  REQUIRE_FALSE(saved);
  CHECK(saved.error().code == Code::kResourceExhausted);
  CHECK(saved.error().message == "cannot write " + directory / "x" + ": no space left on device");
  CHECK(load_file(directory / "x").value() == "old");
  CHECK(directory.names() == std::vector<std::string>{"x"});
  CHECK(::umount(directory.path().c_str()) == 0);
}
