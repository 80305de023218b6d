#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Memory that this process occupies. Thread rule: a function without state.
#include <cstdint>

namespace tfd {

/// Returns the resident memory of this process in bytes; 0 where the system doesn't say.
std::uint64_t resident_bytes();

}  // namespace tfd
