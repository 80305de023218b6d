#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Whether a process that died of SIGKILL was killed for want of memory: the kernel counts such ends in the memory
// cgroup of this process, which is its children's, too, unless somebody has moved them. Where there is no such group
// nothing is known. Thread rule: thread-compatible.
#include <cstdint>
#include <string>

#include "tfd/process/child.hpp"

namespace tfd::process {

class OomKills {
 public:
  OomKills();
  /// For the tests: the file that counts, as memory.events (cgroup v2) and memory.oom_control (v1) do.
  explicit OomKills(std::string path);

  /// The same end, with `is_oom` where it is one that was counted; each count is of one end.
  ExitStatus explain(ExitStatus status);

 private:
  std::uint64_t count() const;

  std::string path_;  // empty: no such group
  std::uint64_t explained_ = 0;
};

/// From the text of /proc/self/cgroup: the file that counts, below the mount point of cgroups.
std::string oom_file_of(std::string_view cgroups);

}  // namespace tfd::process
