#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// The log of one task: the file that tfd-serve --log-dir keeps on the task's host. Thread rule: main thread.
#include "ask.hpp"
#include "tfd/cli/tool.hpp"

namespace tfd::status {

/// Prints the log of the one task of `tasks`; if `follows`, also what is added, until the task is gone for a while.
/// kUnavailable: it doesn't answer, or its log is on another host; kNo with a line on stderr: it keeps none.
Result<cli::ExitCode> print_log(Tasks& tasks, Duration patience, bool follows, cli::Io& io);

}  // namespace tfd::status
