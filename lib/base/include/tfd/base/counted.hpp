#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// A count with its noun, for messages. Thread rule: pure function.
#include <cstdint>
#include <string>
#include <string_view>

namespace tfd {

/// "1 closure", "2 closures", "0 closures".
std::string counted(std::uint64_t count, std::string_view what);

}  // namespace tfd
