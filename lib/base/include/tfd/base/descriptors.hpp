#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// How many files and connections this process may have open (RLIMIT_NOFILE). The soft limit is 1024 on most systems,
// for the sake of programs that use select(2); a cluster has more tasks than that. Thread rule: functions without
// state, but raise_descriptor_limit(), which is for the start of a process.
#include <cstddef>
#include <cstdint>

#include "tfd/base/error.hpp"

namespace tfd {

/// Makes the soft limit the hard one.
void raise_descriptor_limit();

/// Restores the soft limit that this process was started with, in a child between fork and exec. Async-signal-safe.
void restore_descriptor_limit();

/// Checks that this many connections can be open at once, besides a process's own descriptors. kResourceExhausted
/// states the limit, and what would help.
Result<void> check_descriptors(std::uint64_t connections);

/// How many descriptors a part of a process may have for itself: `most`, or a quarter of all.
std::size_t share_of_descriptors(std::size_t most);

}  // namespace tfd
