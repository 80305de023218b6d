#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Descendants whose own parent has ended. Thread rule: thread-safe.
#include <sys/types.h>

#include <functional>

#include "tfd/base/error.hpp"

namespace tfd::process {

/// Makes this process the parent of its descendants whose own parent has ended, so that it can reap them: an init that
/// doesn't would leave them, and process groups that never end. kSystem when the kernel refuses.
Result<void> adopt_orphans();

/// Reaps the children that have ended, but for those of whom `is_ours` is true: somebody else reaps these. It stops at
/// the first of them, so it must be called again once that one is reaped; never blocks. For who is PID 1 or has called
/// adopt_orphans(), at each SIGCHLD.
void reap_orphans(const std::function<bool(pid_t child)>& is_ours);

}  // namespace tfd::process
