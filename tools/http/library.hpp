#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// libmicrohttpd, loaded when a page is first asked for: linking it would cost every start of a tool what its TLS costs
// to load, which isn't used. A release links it, built without TLS, into its one file. Thread rule: thread-safe.
#include <microhttpd.h>

#include "tfd/base/error.hpp"

namespace tfd::http {

/// Functions of the library that a Server calls.
struct Library {
  decltype(&::MHD_start_daemon) start_daemon = nullptr;
  decltype(&::MHD_stop_daemon) stop_daemon = nullptr;
  decltype(&::MHD_run) run = nullptr;
  decltype(&::MHD_add_connection) add_connection = nullptr;
  decltype(&::MHD_get_daemon_info) get_daemon_info = nullptr;
  decltype(&::MHD_get_connection_info) get_connection_info = nullptr;
  decltype(&::MHD_get_timeout) get_timeout = nullptr;
  decltype(&::MHD_lookup_connection_value) lookup_connection_value = nullptr;
  decltype(&::MHD_create_response_from_buffer) create_response_from_buffer = nullptr;
  decltype(&::MHD_add_response_header) add_response_header = nullptr;
  decltype(&::MHD_queue_response) queue_response = nullptr;
  decltype(&::MHD_destroy_response) destroy_response = nullptr;
};

/// kFailedPrecondition where it isn't linked in and can't be loaded: what to install.
Result<Library> load_library();

}  // namespace tfd::http
