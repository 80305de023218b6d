#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// libcurl's functions, found at run time: linking libcurl would cost every start of every tool some milliseconds, most
// of which never make a request. Thread rule: immutable once loaded.
#include <curl/curl.h>

#include "tfd/base/error.hpp"

namespace tfd::resolve::http {

struct Curl {
  decltype(&::curl_global_init) global_init;
  decltype(&::curl_version_info) version_info;
  decltype(&::curl_easy_init) easy_init;
  decltype(&::curl_easy_setopt) easy_setopt;
  decltype(&::curl_easy_getinfo) easy_getinfo;
  decltype(&::curl_easy_cleanup) easy_cleanup;
  decltype(&::curl_easy_strerror) easy_strerror;
  decltype(&::curl_multi_init) multi_init;
  decltype(&::curl_multi_add_handle) multi_add_handle;
  decltype(&::curl_multi_remove_handle) multi_remove_handle;
  decltype(&::curl_multi_perform) multi_perform;
  decltype(&::curl_multi_wait) multi_wait;
  decltype(&::curl_multi_poll) multi_poll;  // of 7.66; else null
  decltype(&::curl_multi_info_read) multi_info_read;
  decltype(&::curl_multi_cleanup) multi_cleanup;
  decltype(&::curl_multi_strerror) multi_strerror;
  decltype(&::curl_slist_append) slist_append;
  decltype(&::curl_slist_free_all) slist_free_all;
  decltype(&::curl_url) url;
  decltype(&::curl_url_set) url_set;
  decltype(&::curl_url_get) url_get;
  decltype(&::curl_url_cleanup) url_cleanup;
  decltype(&::curl_free) free;
};

/// Loads libcurl.so.4, which is never unloaded. kUnimplemented where it isn't there or is older than 7.62 (its parser
/// of URLs): the message says what to install.
Result<Curl> load_curl();

}  // namespace tfd::resolve::http
