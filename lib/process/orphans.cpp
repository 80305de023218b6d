// SPDX-License-Identifier: Apache-2.0
#include "tfd/process/orphans.hpp"

#include <sys/prctl.h>
#include <sys/wait.h>

#include <cerrno>

namespace tfd::process {

Result<void> adopt_orphans() {
  if (::prctl(PR_SET_CHILD_SUBREAPER, 1) != 0) return fail_errno(errno, "cannot adopt orphaned processes");
  return {};
}

void reap_orphans(const std::function<bool(pid_t child)>& is_ours) {
  for (;;) {
    siginfo_t info{};
    if (::waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) != 0 || info.si_pid == 0 || is_ours(info.si_pid)) return;
    ::waitpid(info.si_pid, nullptr, WNOHANG);
  }
}

}  // namespace tfd::process
