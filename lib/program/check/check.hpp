#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Checks shared by inputs (check.cpp) and outputs (check_outputs.cpp). Thread rule: pure functions.
#include <string>
#include <string_view>

#include "draft.hpp"

namespace tfd::program {

Result<const VariableDef*> need_variable(const std::string& name, const Program& program, const Node& node);
/// Finds a variable that has rows.
Result<const VariableDef*> need_table(const std::string& name, const Program& program, const Node& node);
/// Requires argument or result `i` of every module to have this spec; `what` is in the message: "variable 'w'".
Result<void> need_spec(const FunctionDef& def, bool argument, std::size_t i, const tensor::TensorSpec& spec,
                       std::string_view what, const Node& node);
/// Returns the dataset field of a binding; fills it in if there is only one.
Result<const data::FieldSpec*> resolve_field(InputBinding& binding, const Program& program, const Node& node);
/// Formats a table's rows: "f32[…, 8]".
std::string format_rows(const VariableDef& table);
/// True if row ids may have this dtype.
bool is_index(tensor::DType dtype);

Result<void> check_outputs(FunctionDraft& draft, const Program& program);

}  // namespace tfd::program
