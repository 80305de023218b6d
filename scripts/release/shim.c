// SPDX-License-Identifier: Apache-2.0
//
// Symbols that objects that GCC makes on Debian 12, and its libstdc++.a, need of a glibc newer than 2.28. The linker refuses
// missing ones, so nothing can be forgotten silently.
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>
#define OWN __attribute__((visibility("hidden")))

enum { kNanoseconds = 1000000000 };

// 2.32: may atomics be left out? Never.
OWN char __libc_single_threaded = 0;

// 2.36: std::random_device.
OWN uint32_t arc4random(void) {
  uint32_t value;
  if (getrandom(&value, sizeof value, 0) != (ssize_t)sizeof value) abort();
  return value;
}

// 2.32: what a signal is called.
OWN const char* sigdescr_np(int number) { return strsignal(number); }

OWN const char* sigabbrev_np(int number) {
  static const char* const kNames[] = {"",       "HUP",  "INT",    "QUIT", "ILL",   "TRAP", "ABRT", "BUS",
                                       "FPE",    "KILL", "USR1",   "SEGV", "USR2",  "PIPE", "ALRM", "TERM",
                                       "STKFLT", "CHLD", "CONT",   "STOP", "TSTP",  "TTIN", "TTOU", "URG",
                                       "XCPU",   "XFSZ", "VTALRM", "PROF", "WINCH", "POLL", "PWR",  "SYS"};
  return number > 0 && number < (int)(sizeof kNames / sizeof *kNames) ? kNames[number] : NULL;
}

// 2.30: std::condition_variable with a steady clock. It waits in slices of a second, so that a wall clock that is set
// back costs no more than one; an end that comes early is a spurious wake-up, which callers expect.
OWN int pthread_cond_clockwait(pthread_cond_t* condition, pthread_mutex_t* mutex, clockid_t clock,
                               const struct timespec* until) {
  struct timespec now, wall;
  clock_gettime(clock, &now);
  clock_gettime(CLOCK_REALTIME, &wall);
  int64_t left = (int64_t)(until->tv_sec - now.tv_sec) * kNanoseconds + (until->tv_nsec - now.tv_nsec);
  if (left < 0) left = 0;
  const int is_slice = left > kNanoseconds;
  if (is_slice) left = kNanoseconds;
  left += wall.tv_nsec;
  wall.tv_sec += left / kNanoseconds;
  wall.tv_nsec = left % kNanoseconds;
  const int result = pthread_cond_timedwait(condition, mutex, &wall);
  return result == ETIMEDOUT && is_slice ? 0 : result;
}
