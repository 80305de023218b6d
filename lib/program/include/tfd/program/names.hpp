#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// A program's file, and names in it for completions of a command line: nothing of it is checked. Thread rule: free
// functions.
#include <cstdint>
#include <string>
#include <vector>

#include "tfd/base/error.hpp"

namespace tfd::program {

/// EvaluateDef::every_steps of "every": "epoch".
inline constexpr std::int64_t kEveryEpoch = -1;

/// A program's file: that of a folder is its program.json, if there is one.
std::string program_file(const std::string& path);

enum class NameKind { kSettings, kFunctions, kDatasets };

/// The names of functions or datasets, or what --set can change, as "train.steps=": values that are stated, and those
/// that a training may have. Those with characters that a shell would read are left out. kInvalidArgument: the file has
/// no JSON object; errors of reading it.
Result<std::vector<std::string>> list_names(const std::string& path, NameKind kind);

}  // namespace tfd::program
