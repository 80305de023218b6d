#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// How much room a line has. Thread rule: pure functions.
#include <cstddef>
#include <string_view>

#include "tfd/cli/tool.hpp"

namespace tfd::cli {

/// Columns of the terminal that this output is; 80 where it is none, or doesn't say.
std::size_t columns_of(const Output& out);
/// The same, but where it is none as COLUMNS says, if that is a number from 20 to 1000.
std::size_t columns_of(const Output& out, const Environment& env);
/// Columns that a text takes on a terminal: one for each character of UTF-8.
std::size_t columns_of(std::string_view text);

}  // namespace tfd::cli
