#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// The function by which a running program hands over values. Thread rule: thread-safe.
#include "ffi.hpp"

namespace tfd::function {

/// kWatchTarget.
void* tell_watch(ffi::CallFrame* frame);

}  // namespace tfd::function
