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

/// Reaps the children that have ended; children for which `is_ours` returns true are left to their owner. Stops at the
/// first of these, so call it again once that one is reaped. Never blocks. Call it at each SIGCHLD as PID 1, or after
/// adopt_orphans().
void reap_orphans(const std::function<bool(pid_t child)>& is_ours);

}  // namespace tfd::process
