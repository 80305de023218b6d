#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// The examples that come with tfd: where they lie, what they are, and a copy that is a user's own. Thread rule: free
// functions.
#include <filesystem>
#include <string>
#include <vector>

#include "tfd/base/error.hpp"

namespace tfd::example {

struct Example {
  std::string name;
  std::string summary;  // "a classifier on parameter servers"
};

/// The folder that has them: share/tfd/examples beside the tools, else that of the sources which this build is of.
/// kNotFound.
Result<std::filesystem::path> find_folder();

/// Sorted by name. kSystem.
Result<std::vector<Example>> list(const std::filesystem::path& folder);

/// Copies an example to `to`, which must not exist yet, or be empty. Files of other examples that its program reads
/// come along, so that it needs nothing else, and its page names its files as they are now. Returns the file to begin
/// with: its program.json, else its README.md. kNotFound: no such example, with the nearest name; kInvalidArgument:
/// `to` isn't empty; kSystem, kPermissionDenied.
Result<std::filesystem::path> copy(const std::filesystem::path& folder, const std::string& name,
                                   const std::filesystem::path& to);

/// The first command for the program of a copy: `tfd-run PROGRAM`, if the first command of its page has no options
/// after the program, else that command. Empty: it is of something else.
std::string first_command(const std::filesystem::path& program);

}  // namespace tfd::example
