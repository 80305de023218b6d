#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// --watch: prints the answer again whenever it changes. Thread rule: main thread; another thread watches for stdout's
// reader to go.
#include "kinds.hpp"

namespace tfd::tool_resolve {

/// Prints until the source can no longer change, or until stdout's reader is gone, which ends the process with 0. A
/// failed query is an error the first time, a warning later.
Result<int> watch(const Asked& asked, Changes changes, resolve::Resolver& resolver, cli::Io& io);

/// Deadline for a single answer.
Deadline answer_deadline(const Asked& asked);

}  // namespace tfd::tool_resolve
