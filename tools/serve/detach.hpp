#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// --detach: the supervisor continues in the background, in a session of its own, once all tasks are ready. Thread rule:
// call before there is any thread.
#include <functional>
#include <string>

#include "tfd/cli/tool.hpp"

namespace tfd::serve {

/// Forks. The parent waits until the background process has closed its stdout, prints what it wrote (if `print`), and
/// returns 0, or the exit code with which it ended early (it has reported why). The background process runs `serve`
/// with stdout into the parent's pipe; `serve` calls its argument when the parent may return.
Result<int> detach(cli::Io& io, bool print, const std::function<Result<int>(std::function<void()> let_go)>& serve);

}  // namespace tfd::serve
