#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// How many tasks or hosts a group needs, MIN or MIN:MAX, the same in every tool that has such an option. Thread rule:
// plain functions.
#include <cstdint>
#include <string>
#include <vector>

#include "tfd/base/text.hpp"
#include "tfd/cli/tool.hpp"

namespace tfd {

struct Bounds {
  std::int64_t least = 0;
  std::int64_t most = 0;
  bool is_elastic = false;  // both were given: failed members are replaced
};

/// kUsage: `text` isn't MIN or MIN:MAX, with 1 <= MIN <= MAX.
inline Result<Bounds> parse_bounds(const std::string& option, const std::string& text) {
  constexpr std::int64_t kMost = 4096;
  const std::vector<std::string> ends = split(text, ':');
  if (ends.size() > 2) return fail(Code::kUsage, "{}: '{}' is not MIN or MIN:MAX", option, printable(text));
  Bounds bounds{.is_elastic = ends.size() == 2};
  bounds.least = TFD_TRY(cli::as_usage(parse_integer(ends.front(), 1, kMost), option));
  bounds.most = TFD_TRY(cli::as_usage(parse_integer(ends.back(), bounds.least, kMost), option));
  return bounds;
}

}  // namespace tfd
