// SPDX-License-Identifier: Apache-2.0
#include "child_watch.hpp"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <memory>

namespace tfd::process {
namespace {

struct Watched {
  pid_t child;
  Fd told;
};

void* wait_for_end(void* argument) {
  const std::unique_ptr<Watched> watched(static_cast<Watched*>(argument));
  siginfo_t info{};
  // It isn't reaped here. Once somebody else has, ECHILD says as much.
  while (::waitid(P_PID, static_cast<id_t>(watched->child), &info, WEXITED | WNOWAIT) != 0 && errno == EINTR) {
  }
  const std::uint64_t one = 1;
  (void)!::write(watched->told.get(), &one, sizeof one);
  return nullptr;
}

/// Starts a thread that nobody waits for: it ends with the child. It takes no signals.
int start_waiting(std::unique_ptr<Watched> watched) {
  pthread_attr_t attributes;
  ::pthread_attr_init(&attributes);
  ::pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
  ::pthread_attr_setstacksize(&attributes, std::size_t{128} << 10);
  sigset_t all, before;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  pthread_t thread{};
  const int error = ::pthread_create(&thread, &attributes, wait_for_end, watched.get());
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  ::pthread_attr_destroy(&attributes);
  if (error == 0) (void)watched.release();  // the thread's
  return error;
}

}  // namespace

Result<Fd> watch_child(pid_t child) {
  Fd out(static_cast<int>(::syscall(SYS_pidfd_open, child, 0U)));
  if (out) return out;
  if (errno != ENOSYS && errno != EPERM) return fail_errno(errno, "cannot watch a child process");
  out = Fd(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  Fd told(out ? ::fcntl(out.get(), F_DUPFD_CLOEXEC, 0) : -1);
  if (!told) return fail_errno(errno, "cannot watch a child process");
  if (const int error = start_waiting(std::make_unique<Watched>(Watched{child, std::move(told)})))
    return fail_errno(error, "cannot watch a child process");
  return out;
}

}  // namespace tfd::process
