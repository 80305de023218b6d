#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Telling the world that all tasks are ready: the spec as one line, in a file, on a descriptor, and the service
// manager. Thread rule: plain functions.
#include <string>

#include "tfd/base/environment.hpp"
#include "tfd/cluster/cluster_config.hpp"

namespace tfd::serve {

struct Announcement {
  cluster::ClusterConfig config;  // with the real ports
  std::string key_file = {};      // named in the spec, where it isn't empty
  std::string data_root = {};     // likewise
  std::string output_file;        // empty: none
  int ready_fd = -1;              // closed afterwards
  bool with_process_id = false;   // of the supervisor, for those who want to stop one in the background
};

/// One line with a newline. Where they are asked for, "key_file", "data_root" and "supervisor": {"pid": N} are added to
/// the spec's other keys.
Result<std::string> spec_line(const Announcement& announcement);
/// Everything but stdout.
Result<void> announce(const Announcement& announcement, const std::string& line, const Environment& env);

}  // namespace tfd::serve
