#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// A program with another document, whose files are those that it has already. Private to the room.
// Thread rule: pure function.
#include <string_view>

#include "tfd/program/program.hpp"

namespace tfd::strategy {

/// `options` as of parse_program(), but for data_elsewhere, which stays what it was.
Result<program::Program> reparse(const program::Program& program, std::string_view document,
                                 program::ProgramOptions options = {});

}  // namespace tfd::strategy
