#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Arguments and results of a command as JSON. Private to the room. Thread rule: pure functions.
#include <string>
#include <string_view>
#include <vector>

#include "tfd/hlo/module.hpp"

namespace tfd::function {

/// Formats a line with its newline: one argument bare, several as a list, none as null.
std::string format_arguments(const std::vector<tensor::Tensor>& arguments);
/// Parses the results. kInvalidArgument says what is wrong where: "result 1: [2]: …", "is not JSON: …".
Result<std::vector<tensor::Tensor>> parse_results(std::string_view text, const hlo::Signature& signature);
/// How many bytes results of this signature may have, generously: indented JSON, long numbers.
std::size_t most_result_bytes(const hlo::Signature& signature);

}  // namespace tfd::function
