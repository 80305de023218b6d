// SPDX-License-Identifier: Apache-2.0
#include "library.hpp"

#include <dlfcn.h>

// Weak: null unless the linker was given the library's archive.
#pragma weak MHD_start_daemon
#pragma weak MHD_stop_daemon
#pragma weak MHD_run
#pragma weak MHD_add_connection
#pragma weak MHD_get_daemon_info
#pragma weak MHD_get_connection_info
#pragma weak MHD_get_timeout
#pragma weak MHD_lookup_connection_value
#pragma weak MHD_create_response_from_buffer
#pragma weak MHD_add_response_header
#pragma weak MHD_queue_response
#pragma weak MHD_destroy_response

namespace tfd::http {
namespace {

constexpr const char* kLibrary = "libmicrohttpd.so.12";
constexpr const char* kHint = "install libmicrohttpd (Debian: libmicrohttpd12, Fedora: libmicrohttpd)";

/// Sets a function to the linked one, or else to the library's.
template <class Function>
bool bind(void* library, const char* name, Function linked, Function& function) {
  function = library == nullptr ? linked : reinterpret_cast<Function>(::dlsym(library, name));
  return function != nullptr;
}

}  // namespace

Result<Library> load_library() {
  void* library = nullptr;  // of linked functions
  if (&::MHD_start_daemon == nullptr) {
    library = ::dlopen(kLibrary, RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr)
      return fail(Code::kFailedPrecondition, "cannot load {}, which --http needs: {}", kLibrary, kHint);
  }
  Library out;
  const bool has_all =
      bind(library, "MHD_start_daemon", &::MHD_start_daemon, out.start_daemon) &&
      bind(library, "MHD_stop_daemon", &::MHD_stop_daemon, out.stop_daemon) &&
      bind(library, "MHD_run", &::MHD_run, out.run) &&
      bind(library, "MHD_add_connection", &::MHD_add_connection, out.add_connection) &&
      bind(library, "MHD_get_daemon_info", &::MHD_get_daemon_info, out.get_daemon_info) &&
      bind(library, "MHD_get_connection_info", &::MHD_get_connection_info, out.get_connection_info) &&
      bind(library, "MHD_get_timeout", &::MHD_get_timeout, out.get_timeout) &&
      bind(library, "MHD_lookup_connection_value", &::MHD_lookup_connection_value, out.lookup_connection_value) &&
      bind(library, "MHD_create_response_from_buffer", &::MHD_create_response_from_buffer,
           out.create_response_from_buffer) &&
      bind(library, "MHD_add_response_header", &::MHD_add_response_header, out.add_response_header) &&
      bind(library, "MHD_queue_response", &::MHD_queue_response, out.queue_response) &&
      bind(library, "MHD_destroy_response", &::MHD_destroy_response, out.destroy_response);
  if (!has_all) return fail(Code::kFailedPrecondition, "{} is too old for --http: {}", kLibrary, kHint);
  return out;
}

}  // namespace tfd::http
