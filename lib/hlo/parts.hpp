#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// A module whose @main takes and returns complex values, made one that takes and returns their real and imaginary parts
// as a last dimension of 2: what tfd has for a complex value. Thread rule: pure function.
#include <string>

#include "text.hpp"
#include "tfd/base/error.hpp"

namespace tfd::hlo {

/// Whether @main has complex arguments or results.
bool has_complex(const ModuleFacts& facts);
/// Returns the text, from which `facts` were parsed, with @main's header and its `return` changed. Additions don't
/// change line numbers, so that the compiler's lines are the user's. The complex argument keeps its name in the body,
/// and its donation: bytes and their order are the same either way. kInvalidArgument with the line: a `return` that
/// doesn't fit the results, or that can't be read.
Result<std::string> in_parts(std::string_view text, const ModuleFacts& facts);

}  // namespace tfd::hlo
