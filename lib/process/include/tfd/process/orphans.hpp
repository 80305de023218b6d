#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Descendants whose own parent has ended. Thread rule: thread-safe.
#include "tfd/base/error.hpp"

namespace tfd::process {

/// Makes this process the parent of its descendants whose own parent has ended, so that it can reap them: an init that
/// doesn't would leave them, and process groups that never end. kSystem when the kernel refuses.
Result<void> adopt_orphans();

}  // namespace tfd::process
