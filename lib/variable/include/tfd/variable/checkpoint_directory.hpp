#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Paths of checkpoints, as users give them. Thread rule: pure functions.
#include <string>

namespace tfd::variable {

/// The directory whose checkpoints a path means: its folder "checkpoints", which exporters state, where the path is a
/// program's folder (it has a program.json, and no index of its own); else the path.
std::string checkpoint_directory(const std::string& path);

}  // namespace tfd::variable
