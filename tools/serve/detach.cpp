// SPDX-License-Identifier: Apache-2.0
#include "detach.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>

#include "tfd/process/fd.hpp"

namespace tfd::serve {
namespace {

void turn_into_null(int fd) {
  const process::Fd null(::open("/dev/null", O_RDWR | O_CLOEXEC));
  if (null) ::dup2(null.get(), fd);
}

/// Closes stdout, and stderr unless it is a file, so that their readers (a command substitution, a CI log) see the end
/// of file.
void let_go() {
  turn_into_null(STDOUT_FILENO);
  struct stat info {};
  if (::fstat(STDERR_FILENO, &info) != 0 || !S_ISREG(info.st_mode)) turn_into_null(STDERR_FILENO);
}

Result<int> wait_for_background(cli::Io& io, bool print, pid_t pid, int from) {
  const std::string text = TFD_TRY(process::read_all(from, Deadline::never()));
  if (!text.empty()) {
    if (print) TFD_TRY(io.out.write(text));
    return 0;
  }
  int status = 0;
  while (::waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

}  // namespace

Result<int> detach(cli::Io& io, bool print, const std::function<Result<int>(std::function<void()>)>& serve) {
  process::Pipe pipe = TFD_TRY(process::make_pipe());
  const pid_t pid = ::fork();
  if (pid < 0) return fail_errno(errno, "cannot go into the background");
  if (pid > 0) {
    pipe.write.reset();
    return wait_for_background(io, print, pid, pipe.read.get());
  }
  ::setsid();
  turn_into_null(STDIN_FILENO);
  ::dup2(pipe.write.get(), STDOUT_FILENO);
  pipe.write.reset();
  pipe.read.reset();
  return serve(let_go);
}

}  // namespace tfd::serve
