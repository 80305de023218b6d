#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Where a member of a group listens. Private to the room. Thread rule: blocks its thread while a name is resolved.
#include <string>

#include "tfd/base/error.hpp"
#include "tfd/task/group.hpp"

namespace tfd::task {

/// The numeric address of this member's host, by its address among the members'. kPermissionDenied: other hosts can
/// connect there, and there is no key; kUnavailable: the name can't be resolved.
Result<std::string> host_to_listen_at(const GroupOptions& options);

}  // namespace tfd::task
