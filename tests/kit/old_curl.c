// SPDX-License-Identifier: Apache-2.0
//
// The system's libcurl as one of 7.62 to 7.65: without curl_multi_poll(), options of certificates in memory, and those
// that came later. Found in place of the real one as libcurl.so.4 in LD_LIBRARY_PATH; TFD_TEST_CURL is the real one.
#include <dlfcn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#define FUNCTIONS(F)                                                                                                   \
  F(curl_global_init)                                                                                                  \
  F(curl_version_info) F(curl_easy_init) F(curl_easy_getinfo) F(curl_easy_cleanup) F(curl_easy_strerror)               \
      F(curl_multi_init) F(curl_multi_add_handle) F(curl_multi_remove_handle) F(curl_multi_perform) F(curl_multi_wait) \
          F(curl_multi_info_read) F(curl_multi_cleanup) F(curl_multi_strerror) F(curl_slist_append)                    \
              F(curl_slist_free_all) F(curl_url) F(curl_url_set) F(curl_url_get) F(curl_url_cleanup) F(curl_free)

// Each jumps to the real one with the arguments that it was called with.
#define JUMP(name)                                         \
  __attribute__((visibility("hidden"))) void* real_##name; \
  __asm__(".text\n.globl " #name "\n.type " #name ",@function\n" #name ":\n  jmp *real_" #name "(%rip)\n");
FUNCTIONS(JUMP)

static int (*real_setopt)(void*, int, ...);

int curl_easy_setopt(void* handle, int option, ...) {
  static const int kLater[] = {40309, 40291, 40292, 10318,
                               322};  // CAINFO_BLOB, SSLCERT_BLOB, SSLKEY_BLOB, PROTOCOLS_STR, QUICK_EXIT
  for (unsigned i = 0; i < sizeof kLater / sizeof *kLater; ++i)
    if (option == kLater[i]) return 48;  // CURLE_UNKNOWN_OPTION
  va_list rest;
  va_start(rest, option);
  void* const value = va_arg(rest, void*);  // a long or a pointer
  va_end(rest);
  return real_setopt(handle, option, value);
}

__attribute__((constructor)) static void find_the_real_one(void) {
  const char* const path = getenv("TFD_TEST_CURL");
  void* const library = path == NULL ? NULL : dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (library == NULL) {
    fprintf(stderr, "old_curl: TFD_TEST_CURL is no library\n");
    abort();
  }
  *(void**)&real_setopt = dlsym(library, "curl_easy_setopt");
#define FIND(name) real_##name = dlsym(library, #name);
  FUNCTIONS(FIND)
}
