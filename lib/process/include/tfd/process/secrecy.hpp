#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Keeps credentials in this process. Thread rule: thread-safe.
#include "tfd/base/error.hpp"

namespace tfd::process {

/// Makes this process undumpable: no core dump, and only root attaches a debugger or reads its memory. A program that
/// it executes or starts has core dumps again. Cheap; harmless twice. kSystem when the kernel refuses.
Result<void> forbid_core_dumps();

}  // namespace tfd::process
