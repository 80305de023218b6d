#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Reads a line of jsonl by simdjson, straight into the row: the common and correct cases. Wrong or rare lines are
// left to the slower reader, which can name the error. Thread rule: free functions, thread-safe.
#include <string_view>

#include "../files/block_builder.hpp"

namespace tfd::data {

/// Writes the row's fields. `readable`: the number of bytes from the line's beginning on, including those behind the
/// line. Returns false if the line needs the slower reader; written bytes then mean nothing.
bool write_plain_object(std::string_view line, std::size_t readable, const ElementSpec& spec, BlockBuilder& out);

}  // namespace tfd::data
