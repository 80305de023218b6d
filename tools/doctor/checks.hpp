#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Checks of the dependencies of tfd, required or optional, on this machine. Thread rule: free functions.
#include <cstddef>
#include <string>
#include <vector>

#include "tfd/base/environment.hpp"

namespace tfd::doctor {

/// kOptional: it isn't here, and only what its hint names needs it.
enum class State { kOk, kMissing, kOptional, kBroken };

struct Check {
  std::string name;  // "plug-in", "libcurl"
  State state = State::kOk;
  std::string text;       // the finding, or the reason
  std::string hint = {};  // the way out, or the purpose
};

/// Checks everything, in the order in which a newcomer needs it; after Python and GPUs, missing optional parts
/// come last. Loads the plug-in and makes a client of it, which may take seconds; asks no network.
std::vector<Check> check_all(const Environment& env);

/// Lines of at most `columns`, apart from words that are longer.
std::string format_table(const std::vector<Check>& checks, std::size_t columns);
/// {"checks": [{"name", "state": "ok" | "missing" | "optional" | "broken", "text", "hint"}]}, a line.
std::string format_json(const std::vector<Check>& checks);

}  // namespace tfd::doctor
