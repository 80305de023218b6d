#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// A line of jsonl as simdjson reads it, straight into the row: what is right, and common. What is wrong, or rare, is
// left to who can say what is wrong with it. Thread rule: free functions, thread-safe.
#include <string_view>

#include "../files/block_builder.hpp"

namespace tfd::data {

/// Writes the row's fields. `readable`: how many bytes there are from the line's beginning, those behind it with it.
/// false: it isn't for here, and what was written means nothing.
bool write_plain_object(std::string_view line, std::size_t readable, const ElementSpec& spec, BlockBuilder& out);

}  // namespace tfd::data
