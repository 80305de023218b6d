// SPDX-License-Identifier: Apache-2.0
#include "tfd/process/relay.hpp"

#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

namespace tfd::process {
namespace {

constexpr std::size_t kLongestLine = 64 * 1024;
constexpr int kTurns = 8;  // more than a pipe holds; a child that never stops writing doesn't keep others waiting

/// -1 and EAGAIN where it would block.
ssize_t write_now(int fd, std::string_view text) {
  const iovec piece{const_cast<char*>(text.data()), text.size()};
  const ssize_t written = ::pwritev2(fd, &piece, 1, -1, RWF_NOWAIT);
  if (written >= 0 || (errno != EOPNOTSUPP && errno != EINVAL && errno != ENOSYS && errno != ESPIPE)) return written;
  // Terminals and some file systems: PIPE_BUF bytes fit when poll reports POLLOUT.
  pollfd ready{fd, POLLOUT, 0};
  if (::poll(&ready, 1, 0) == 0) {
    errno = EAGAIN;
    return -1;
  }
  return ::write(fd, text.data(), std::min<std::size_t>(text.size(), PIPE_BUF));
}

}  // namespace

bool read_available(int fd, std::string& out, std::size_t most) {
  char buffer[64 * 1024];
  while (out.size() <= most) {
    const ssize_t got = ::read(fd, buffer, sizeof buffer);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return errno == EAGAIN;
    if (got == 0) return false;
    out.append(buffer, static_cast<std::size_t>(got));
  }
  return true;
}

LineReader::LineReader(Fd fd) : fd_(std::move(fd)) {
  ::fcntl(fd_.get(), F_SETFL, ::fcntl(fd_.get(), F_GETFL) | O_NONBLOCK);
}

bool LineReader::read(const OnLine& on_line) {
  char buffer[16 * 1024];
  for (int turns = 0; turns < kTurns;) {
    const ssize_t got = ::read(fd_.get(), buffer, sizeof buffer);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return true;
    if (got <= 0) {
      if (!rest_.empty()) on_line(rest_);
      rest_.clear();
      return false;
    }
    ++turns;
    rest_.append(buffer, static_cast<std::size_t>(got));
    std::size_t start = 0;
    for (std::size_t end = 0; (end = rest_.find('\n', start)) != std::string::npos; start = end + 1)
      on_line(std::string_view(rest_).substr(start, end - start));
    rest_.erase(0, start);
    if (rest_.size() >= kLongestLine) {
      on_line(rest_);
      rest_.clear();
    }
  }
  return true;
}

void QueuedOutput::add(std::string_view text) {
  if (!pending_.empty() && pending_.size() + text.size() > most_) {
    ++dropped_;
    return;
  }
  if (dropped_ > 0) pending_ += fmt::format("({} lines lost: nobody read them)\n", std::exchange(dropped_, 0));
  pending_ += text;
  flush();
}

void QueuedOutput::flush() {
  while (!pending_.empty()) {
    const ssize_t written = write_now(fd_, pending_);
    if (written < 0 && errno == EINTR) continue;
    if (written < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return;
    if (written > 0) {
      pending_.erase(0, static_cast<std::size_t>(written));
      continue;
    }
    if (written < 0 && errno != EPIPE) saved_errno_ = errno;
    pending_.clear();  // the reader is gone, or the disk is full
  }
}

bool QueuedOutput::flush_until(Deadline deadline) {
  for (flush(); !pending_.empty() && !deadline.expired(); flush()) {
    pollfd ready{fd_, POLLOUT, 0};
    ::poll(&ready, 1, deadline.poll_ms());
  }
  return pending_.empty();
}

}  // namespace tfd::process
