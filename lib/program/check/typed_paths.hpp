#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// User-supplied paths: those of the program file are relative to it, those of --set to the working directory. Private
// to the room. Thread rule: pure functions.
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace tfd::program {

/// Makes the relative paths within `value` absolute, whose position in the document is these keys (an index is a
/// number). Those of data stay unless `with_data`.
void resolve_typed_paths(nlohmann::ordered_json& value, std::vector<std::string>& at, const std::string& directory,
                         bool with_data);

/// Returns `path` relative to the directory if it is within it, else unchanged. Purely lexical.
std::string short_path(const std::string& path, const std::string& directory);

}  // namespace tfd::program
