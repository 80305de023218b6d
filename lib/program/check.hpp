#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// What the checks of inputs (check.cpp) and outputs (check_outputs.cpp) share. Thread rule: pure functions.
#include <string>
#include <string_view>

#include "draft.hpp"

namespace tfd::program {

Result<const VariableDef*> need_variable(const std::string& name, const Program& program, const Node& node);
/// A variable that has rows.
Result<const VariableDef*> need_table(const std::string& name, const Program& program, const Node& node);
/// Every module's argument or result `i` is this spec; `what` is in the message: "variable 'w'".
Result<void> need_spec(const FunctionDef& def, bool argument, std::size_t i, const tensor::TensorSpec& spec,
                       std::string_view what, const Node& node);
/// The field that a binding to a dataset means; states it where there is only one.
Result<const data::FieldSpec*> resolve_field(InputBinding& binding, const Program& program, const Node& node);
/// Of a table: "f32[…, 8]".
std::string format_rows(const VariableDef& table);
/// Whether numbers of rows may be of this type.
bool is_index(tensor::DType dtype);

Result<void> check_outputs(FunctionDraft& draft, const Program& program);

}  // namespace tfd::program
