// SPDX-License-Identifier: Apache-2.0
//
// A disk that stops answering, by LD_PRELOAD: the first read of the file that TFD_TEST_SLOW_FILE names takes
// TFD_TEST_SLOW_SECONDS, and so does every sync from number TFD_TEST_SLOW_SYNC on.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <limits.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

ssize_t read(int fd, void* to, size_t size) {
  static ssize_t (*real)(int, void*, size_t);
  static atomic_int was_slow;
  if (real == NULL) *(void**)&real = dlsym(RTLD_NEXT, "read");  // as POSIX has it
  const char* const slow = getenv("TFD_TEST_SLOW_FILE");
  char link[64], path[PATH_MAX];
  snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  const ssize_t length = slow == NULL ? -1 : readlink(link, path, sizeof path - 1);
  if (length > 0) {
    path[length] = '\0';
    if (strcmp(path, slow) == 0 && atomic_fetch_add(&was_slow, 1) == 0)
      sleep((unsigned)atoi(getenv("TFD_TEST_SLOW_SECONDS")));
  }
  return real(fd, to, size);
}

int fsync(int fd) {
  static int (*real)(int);
  static atomic_int count;
  if (real == NULL) *(void**)&real = dlsym(RTLD_NEXT, "fsync");
  const char* const slow = getenv("TFD_TEST_SLOW_SYNC");
  if (slow != NULL && atomic_fetch_add(&count, 1) + 1 >= atoi(slow)) sleep((unsigned)atoi(getenv("TFD_TEST_SLOW_SECONDS")));
  return real(fd);
}
