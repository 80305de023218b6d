#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Which files a path of a pipeline means: itself, or those that match it. Thread rule: functions without state.
#include <string>
#include <string_view>
#include <vector>

#include "tfd/base/error.hpp"

namespace tfd::data {

/// Whether it has one of *, ? and [, and no file is called so.
bool is_pattern(const std::string& path);
/// The path itself, or the files that match it, in the order of their names. kNotFound: no file matches;
/// kInvalidArgument for a directory.
Result<std::vector<std::string>> find_files(const std::string& path);

}  // namespace tfd::data
