#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Separator between a variable's name and its slots' in VariableStore::export_state().
#include <string_view>

namespace tfd::variable {

inline constexpr std::string_view kSlotMark = "/.optimizer/";

}  // namespace tfd::variable
