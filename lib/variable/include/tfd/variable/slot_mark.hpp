#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// What separates a variable's name from its slots' in VariableStore::export_state().
#include <string_view>

namespace tfd::variable {

inline constexpr std::string_view kSlotMark = "/.optimizer/";

}  // namespace tfd::variable
