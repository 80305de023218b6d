#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// The processors of this host, and how the tasks that are started on it share them. Thread rule: plain functions.
#include "tfd/base/environment.hpp"

namespace tfd::launch {

/// The processors that this process may use: its affinity mask, and the CPU quota of its control group (v2), rounded
/// up.
int usable_processors();

/// The environment that tasks have in common: `env` without the launching process's own variables; PJRT_NPROC, unless
/// set, divides the processors among this host's `workers`: XLA would start two threads per processor in each of them.
/// TFD_PROCESSORS is how many they share then.
Environment shared_environment(Environment env, int workers);

}  // namespace tfd::launch
