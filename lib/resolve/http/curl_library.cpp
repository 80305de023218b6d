// SPDX-License-Identifier: Apache-2.0
#include "curl_library.hpp"

#include <dlfcn.h>

namespace tfd::resolve::http {
namespace {

constexpr const char* kLibrary = "libcurl.so.4";
constexpr const char* kHint = "install libcurl 7.62 or newer (Debian: libcurl4, Fedora: libcurl)";

template <class Function>
bool bind(void* library, const char* name, Function& function) {
  function = reinterpret_cast<Function>(::dlsym(library, name));
  return function != nullptr;
}

bool bind_all(void* library, Curl& curl) {
  return bind(library, "curl_global_init", curl.global_init) && bind(library, "curl_version_info", curl.version_info) &&
         bind(library, "curl_easy_init", curl.easy_init) && bind(library, "curl_easy_setopt", curl.easy_setopt) &&
         bind(library, "curl_easy_getinfo", curl.easy_getinfo) &&
         bind(library, "curl_easy_cleanup", curl.easy_cleanup) &&
         bind(library, "curl_easy_strerror", curl.easy_strerror) && bind(library, "curl_multi_init", curl.multi_init) &&
         bind(library, "curl_multi_add_handle", curl.multi_add_handle) &&
         bind(library, "curl_multi_remove_handle", curl.multi_remove_handle) &&
         bind(library, "curl_multi_perform", curl.multi_perform) && bind(library, "curl_multi_wait", curl.multi_wait) &&
         bind(library, "curl_multi_info_read", curl.multi_info_read) &&
         bind(library, "curl_multi_cleanup", curl.multi_cleanup) &&
         bind(library, "curl_multi_strerror", curl.multi_strerror) &&
         bind(library, "curl_slist_append", curl.slist_append) &&
         bind(library, "curl_slist_free_all", curl.slist_free_all) && bind(library, "curl_url", curl.url) &&
         bind(library, "curl_url_set", curl.url_set) && bind(library, "curl_url_get", curl.url_get) &&
         bind(library, "curl_url_cleanup", curl.url_cleanup) && bind(library, "curl_free", curl.free);
}

}  // namespace

Result<Curl> load_curl() {
  void* const library = ::dlopen(kLibrary, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return fail(Code::kUnimplemented, "cannot load {}, which requests need: {}", kLibrary, kHint);
  Curl curl{};
  if (!bind_all(library, curl)) return fail(Code::kUnimplemented, "{} is too old: {}", kLibrary, kHint);
  bind(library, "curl_multi_poll", curl.multi_poll);
  if (curl.global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK)
    return fail(Code::kSystem, "libcurl {} can't be initialized", curl.version_info(CURLVERSION_NOW)->version);
  return curl;
}

}  // namespace tfd::resolve::http
