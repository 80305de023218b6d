// SPDX-License-Identifier: Apache-2.0
//
// A wheel can't have links; instead it has this program, which executes tfd beside it under the name that this is called
// by.
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

int main(int count, char** arguments) {
  char path[4096];
  const ssize_t size = readlink("/proc/self/exe", path, sizeof path - sizeof "tfd");
  (void)count;
  if (size > 0) {
    path[size] = '\0';
    strcpy(strrchr(path, '/') + 1, "tfd");
    execv(path, arguments);
  }
  fprintf(stderr, "%s: cannot execute tfd beside it: %s\n", arguments[0], strerror(errno));
  return errno == ENOENT ? 127 : 126;
}
