#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// The function by which a running program hands over values, and the one that keeps values apart. Thread rule:
// thread-safe.
#include "ffi.hpp"

namespace tfd::function {

/// kWatchTarget.
void* tell_watch(ffi::CallFrame* frame);
/// hlo::kFenceTarget.
void* pass_fence(ffi::CallFrame* frame);

}  // namespace tfd::function
