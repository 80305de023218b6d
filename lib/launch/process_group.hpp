#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// A task's processes as /proc and the kernel report them. Private to the room. Thread rule: free functions.
#include <sys/types.h>

#include <string>

namespace tfd::launch {

/// True if a process of this group is left. No event tells when the last one ends, and the number isn't reused as long
/// as one is left. Orphans of the group are our children (adopt_orphans()): the dead among them are reaped, for they
/// count as members.
bool group_lives(pid_t group);
/// "D", "S"; "?" where /proc doesn't tell.
std::string state_of(pid_t pid);

}  // namespace tfd::launch
