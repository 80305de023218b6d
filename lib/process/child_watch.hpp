#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// A descriptor that tells of a child's end: a pidfd, or on systems without them, older than Linux 5.3 or where a
// container's filter refuses them, an eventfd that a thread writes to. Thread rule: free function.
#include <sys/types.h>

#include "tfd/base/error.hpp"
#include "tfd/process/fd.hpp"

namespace tfd::process {

/// Readable once the child has ended, reaped or not. kSystem.
Result<Fd> watch_child(pid_t child);

}  // namespace tfd::process
