#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// The environment of a task process. Thread rule: plain functions.
#include "tfd/base/environment.hpp"

namespace tfd::serve {

/// The processors that this process may use: its affinity mask, and the CPU quota of its control group (v2), rounded
/// up.
int usable_processors();

/// Our environment without the supervisor's own variables; PJRT_NPROC, unless set, divides the processors among this
/// host's `workers`: XLA would start two threads per processor in each of them.
Environment task_environment(Environment env, int workers);

}  // namespace tfd::serve
