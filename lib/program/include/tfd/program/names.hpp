#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Names in a program file, for completions of a command line: nothing of it is checked. Thread rule: pure functions.
#include <string>
#include <vector>

#include "tfd/base/error.hpp"

namespace tfd::program {

enum class NameKind { kSettings, kFunctions, kDatasets };

/// The names of functions or datasets, or what --set can change, as "train.steps=": values that are stated, and those
/// that a training may have. Those with characters that a shell would read are left out. kInvalidArgument: the file has
/// no JSON object; errors of reading it.
Result<std::vector<std::string>> list_names(const std::string& path, NameKind kind);

}  // namespace tfd::program
