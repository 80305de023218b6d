// SPDX-License-Identifier: Apache-2.0
#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "tfd/cli/tool.hpp"

namespace tfd::cli {
namespace {

std::string describe(int fd) {
  if (fd == 1) return "cannot write to stdout";
  if (fd == 2) return "cannot write to stderr";
  return fmt::format("cannot write to descriptor {}", fd);
}

}  // namespace

Result<void> Output::write(std::string_view text) {
  if (text_ != nullptr) {
    text_->append(text);
    return {};
  }
  while (!text.empty()) {
    const ssize_t written = ::write(fd_, text.data(), text.size());
    if (written >= 0) {
      text.remove_prefix(static_cast<std::size_t>(written));
      continue;
    }
    const int error = errno;
    if (error == EINTR) continue;
    if (error == EAGAIN || error == EWOULDBLOCK) {  // whoever shares the descriptor made it non-blocking
      pollfd ready{fd_, POLLOUT, 0};
      ::poll(&ready, 1, -1);
      continue;
    }
    if (error == EPIPE) return fail(Code::kUnavailable, "{}: the reader is gone", describe(fd_));
    return fail_errno(error, describe(fd_));
  }
  return {};
}

bool Output::is_terminal() const { return fd_ >= 0 && ::isatty(fd_) == 1; }

}  // namespace tfd::cli
