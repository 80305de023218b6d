#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// A program with another document, whose files are those that it has already. Private to the room.
// Thread rule: pure function.
#include <string_view>

#include "tfd/program/program.hpp"

namespace tfd::strategy {

Result<program::Program> reparse(const program::Program& program, std::string_view document, bool look_at_files = true);

}  // namespace tfd::strategy
