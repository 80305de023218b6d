#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// tf.Examples: elements as protocol buffers, one record each. Which list a feature is goes by the record: int64_list
// for integers and bools, float_list for floats, bytes_list for the bytes of any dtype (tf.io.decode_raw); a text is
// u8. Source: tensorflow/core/example/{example,feature}.proto, 2.21. Thread rule: pure functions.
#include <string>
#include <string_view>
#include <vector>

#include "../files/block_builder.hpp"
#include "tfd/data/plan.hpp"

namespace tfd::data {

/// Writes the features of one Example as the fields of the next row. kInvalidArgument, without where: "feature 'x': 2
/// values instead of f32[3]"; kDataLoss if it is no Example.
Result<void> parse_example(std::string_view bytes, const std::vector<ExampleFeature>& features, BlockBuilder& out);

/// The Example that parse_example() reads as this element: integers and bools as int64_list, f32, f16 and bf16 as
/// float_list; u8 that aren't scalars, u64 and f64, whose values those don't hold, as their bytes.
std::string encode_example(const ElementSpec& spec, const Element& element);

}  // namespace tfd::data
