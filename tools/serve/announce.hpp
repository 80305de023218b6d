#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Announces that all tasks are ready: the spec as one line, in a file, on a descriptor, and to the service manager.
// Thread rule: plain functions.
#include <string>

#include "tfd/base/environment.hpp"
#include "tfd/cluster/cluster_config.hpp"

namespace tfd::serve {

struct Announcement {
  cluster::ClusterConfig config;  // with the real ports
  std::string key_file = {};      // stated in the spec, if not empty
  std::string data_root = {};     // likewise
  std::string output_file;        // empty: none
  int ready_fd = -1;              // closed after that
  bool with_process_id = false;   // includes the supervisor's pid, by which a background one can be stopped
};

/// One line with a newline. "key_file", "data_root" and "supervisor": {"pid": N} are added to the spec's other keys, if
/// requested.
Result<std::string> spec_line(const Announcement& announcement);
/// Announces everywhere but on stdout.
Result<void> announce(const Announcement& announcement, const std::string& line, const Environment& env);

}  // namespace tfd::serve
