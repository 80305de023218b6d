#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Where a member of a group listens. Private to the room. Thread rule: blocks its thread while a name is resolved.
#include <string>

#include "tfd/base/error.hpp"
#include "tfd/group/group.hpp"

namespace tfd::group {

/// The numeric address of this member's host, by its address among the members'; waits until the name resolves, as it
/// may later in a pod that has just started. kPermissionDenied: other hosts can connect there, and there is no key;
/// kDeadlineExceeded: the name doesn't resolve; kCancelled: interrupted.
Result<std::string> wait_for_host_to_listen_at(const GroupOptions& options, Deadline deadline);

}  // namespace tfd::group
