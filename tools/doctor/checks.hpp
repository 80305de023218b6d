#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// What tfd needs, or can use, of this machine, and whether it is here. Thread rule: free functions.
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
  std::string text;       // what was found, or why it wasn't
  std::string hint = {};  // what would help, or what it is for
};

/// Looks at everything, in the order in which a newcomer needs it; behind Python and GPUs, what is optional and isn't
/// here comes last. Loads the plug-in and makes a client of it, which may take seconds; asks no network.
std::vector<Check> check_all(const Environment& env);

/// Lines of at most `columns`, apart from words that are longer.
std::string format_table(const std::vector<Check>& checks, std::size_t columns);
/// {"checks": [{"name", "state": "ok" | "missing" | "optional" | "broken", "text", "hint"}]}, a line.
std::string format_json(const std::vector<Check>& checks);

}  // namespace tfd::doctor
