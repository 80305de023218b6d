#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// The files that a path of a pipeline means: itself, or those that match it. Thread rule: functions without state.
#include <string>
#include <string_view>
#include <vector>

#include "tfd/data/plan.hpp"

namespace tfd::data {

/// Whether it has one of *, ? and [, and no file is called so.
bool is_pattern(const std::string& path);
/// The path itself, or the files that match it, in the order of their names. kNotFound: no file matches;
/// kInvalidArgument for a directory.
Result<std::vector<std::string>> find_files(const std::string& path);

/// The files of all paths, reduced to the shard's: none if it lies behind them. kInvalidArgument if the shard
/// requires one for each, and there are fewer.
Result<std::vector<std::string>> find_files(const FileList& files);
/// The error where all that were found are empty.
tl::unexpected<Error> nothing_in(const std::vector<std::string>& found, const FileList& files);
/// The error of a shard that requires something for each; `found` is the number that was found.
tl::unexpected<Error> too_few_for(const Shard& shard, std::string_view found);
/// "rows.csv", "a.csv and 2 others".
std::string format_files(const FileList& files);

}  // namespace tfd::data
