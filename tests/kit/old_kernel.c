// SPDX-License-Identifier: Apache-2.0
//
// old-kernel COMMAND ARG…: runs it as on Linux 4.18: system calls that came later (pidfd_open, close_range, …) say
// ENOSYS. With OLD_KERNEL=EPERM as below a filter that forbids pidfd_open.
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

enum { kFirstNew = 424, kPidfdOpen = 434 };  // pidfd_send_signal, of Linux 5.1; the same on all architectures

int main(int count, char** arguments) {
  if (count < 2) return fprintf(stderr, "usage: old-kernel COMMAND ARG…\n"), 64;
  const char* const how = getenv("OLD_KERNEL");
  const int is_forbidden = how != NULL && strcmp(how, "EPERM") == 0;
  struct sock_filter code[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | (is_forbidden ? BPF_JEQ : BPF_JGE) | BPF_K, is_forbidden ? kPidfdOpen : kFirstNew, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | (is_forbidden ? EPERM : ENOSYS)),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  struct sock_fprog program = {sizeof code / sizeof *code, code};
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0)
    return perror("old-kernel: seccomp"), 71;
  execvp(arguments[1], arguments + 1);
  return perror(arguments[1]), 127;
}
