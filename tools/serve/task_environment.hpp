#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// What a task process finds in its environment. Thread rule: plain functions.
#include "tfd/base/environment.hpp"

namespace tfd::serve {

/// The processors that this process may use: its affinity mask, and the CPU quota of its control group (v2), rounded
/// up.
int usable_processors();

/// Ours, without what concerns the supervisor alone; PJRT_NPROC divides the processors among the `workers` of this
/// host, unless it is set: XLA would start two threads per processor in each of them.
Environment task_environment(Environment env, int workers);

}  // namespace tfd::serve
