// SPDX-License-Identifier: Apache-2.0
#include "tfd/process/group_guard.hpp"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>

namespace tfd::process {
namespace {

constexpr std::size_t kMostGroups = 16384;
constexpr int kInput = 3;

/// Runs the guard in the forked child, which never execs: it must not allocate or lock, since the parent has threads.
[[noreturn]] void guard_groups() {
  static std::array<pid_t, kMostGroups> groups;
  std::size_t count = 0;
  pid_t said = 0;
  for (;;) {
    const ssize_t got = ::read(kInput, &said, sizeof said);
    if (got < 0 && errno == EINTR) continue;
    if (got != static_cast<ssize_t>(sizeof said)) break;
    if (said > 1 && count < kMostGroups) groups[count++] = said;
    for (std::size_t i = 0; said < 0 && i < count; ++i)
      if (groups[i] == -said) groups[i--] = groups[--count];
  }
  for (std::size_t i = 0; i < count; ++i) ::kill(-groups[i], SIGKILL);
  ::_exit(0);
}

[[noreturn]] void become_guard(int from) {
  ::setpgid(0, 0);  // not reached by the terminal's Ctrl-C or a kill of the task's process group
  ::prctl(PR_SET_NAME, "tfd-guard");
  ::dup2(from, kInput);
  // Readers that wait for the end of our stdout or stderr must not wait for this process.
  for (int fd = 0; fd < kInput; ++fd) ::close(fd);
  if (::syscall(SYS_close_range, kInput + 1, ~0U, 0U) != 0)
    for (int fd = kInput + 1; fd < 4096; ++fd) ::close(fd);
  guard_groups();
}

}  // namespace

Result<std::shared_ptr<GroupGuard>> GroupGuard::start() {
  Pipe pipe = TFD_TRY(make_pipe());
  sigset_t all, before;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);  // inherited: only SIGKILL ends it before us
  const pid_t pid = ::fork();
  if (pid == 0) become_guard(pipe.read.get());
  const int saved_errno = errno;
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (pid < 0) return fail_errno(saved_errno, "cannot start the process that watches over commands");
  return std::shared_ptr<GroupGuard>(new GroupGuard(std::move(pipe.write), pid));
}

GroupGuard::~GroupGuard() {
  to_.reset();
  while (::waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
  }
}

void GroupGuard::remove(pid_t group) const {
  const pid_t text = -group;
  while (::write(to_.get(), &text, sizeof text) < 0 && errno == EINTR) {
  }
}

}  // namespace tfd::process
