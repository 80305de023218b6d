// SPDX-License-Identifier: Apache-2.0
#include "tfd/process/fd.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

namespace tfd::process {
namespace {

/// Appends one read's worth; false at the end of file.
Result<bool> read_more(int fd, std::string& out) {
  constexpr std::size_t kChunk = 64 * 1024;
  const std::size_t before = out.size();
  out.resize(before + kChunk);
  const ssize_t got = ::read(fd, out.data() + before, kChunk);
  const int saved_errno = errno;
  out.resize(before + static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
  if (got < 0 && saved_errno != EINTR && saved_errno != EAGAIN && saved_errno != EWOULDBLOCK)
    return fail_errno(saved_errno, "cannot read the input");
  return got != 0;
}

}  // namespace

Fd& Fd::operator=(Fd&& other) noexcept {
  if (this != &other) {
    reset();
    fd_ = std::exchange(other.fd_, -1);
  }
  return *this;
}

Fd::~Fd() { reset(); }

void Fd::reset() {
  if (fd_ >= 0) ::close(std::exchange(fd_, -1));
}

Result<Pipe> make_pipe() {
  int fds[2];
  if (::pipe2(fds, O_CLOEXEC) != 0) return fail_errno(errno, "cannot create a pipe");
  return Pipe{Fd(fds[0]), Fd(fds[1])};
}

std::string name_of_stream(int fd) {
  struct stat about {};
  return ::fstat(fd, &about) == 0 ? fmt::format("{}:{}", about.st_dev, about.st_ino) : "";
}

bool is_data_source(int fd) {
  struct stat info {};
  if (::fstat(fd, &info) != 0) return false;
  return S_ISFIFO(info.st_mode) || S_ISSOCK(info.st_mode) || S_ISREG(info.st_mode);
}

bool has_reader(int fd) {
  struct stat info {};
  return ::fstat(fd, &info) == 0 && (S_ISFIFO(info.st_mode) || S_ISSOCK(info.st_mode));
}

bool reader_is_gone(int fd) {
  if (!has_reader(fd)) return false;
  struct pollfd state {
    fd, 0, 0
  };
  return ::poll(&state, 1, 0) > 0 && (state.revents & (POLLERR | POLLHUP)) != 0;
}

Result<std::string> read_all(int fd, Deadline deadline, std::size_t most) {
  std::string out;
  for (;;) {
    struct pollfd ready {
      fd, POLLIN, 0
    };
    const int count = ::poll(&ready, 1, deadline.poll_ms());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return fail_errno(errno, "cannot wait for input");
    if (count == 0) return fail(Code::kDeadlineExceeded, "no end of file after {} bytes", out.size());
    if (!TFD_TRY(read_more(fd, out))) return out;
    if (out.size() > most) return fail(Code::kResourceExhausted, "the input is larger than {} bytes", most);
  }
}

}  // namespace tfd::process
