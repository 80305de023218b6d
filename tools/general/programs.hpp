#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Other programs that tfd becomes, or whose output it reads. Thread rule: main thread.
#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "tfd/base/environment.hpp"
#include "tfd/cli/tool.hpp"

namespace tfd::general {

/// Executes another program in place of this process; returns only on failure: 127 if it is missing, else 126.
int become(const std::string& path, std::vector<std::string> arguments, cli::Io& io);

/// Captures a program's stdout, up to 1 MiB of it; nullopt if it fails, or takes longer than `patience`.
std::optional<std::string> output_of(std::vector<std::string> argv, const Environment& env,
                                     std::chrono::seconds patience = std::chrono::seconds(5));

}  // namespace tfd::general
