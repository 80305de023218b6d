#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// When to stop early: "now,fail=1", "soon,fail=3", "now,success=1", "soon,done=10%", "never". Source: parallel(1),
// --halt. Thread rule: plain value.
#include <cstdint>
#include <string_view>

#include "tfd/base/error.hpp"

namespace tfd::exec {

struct Halt {
  enum class When { kNever, kSoon, kNow };
  enum class What { kFail, kSuccess, kDone };
  When when = When::kNever;
  What what = What::kFail;
  std::uint64_t count = 1;
  std::uint64_t percent = 0;  // of all commands; 0: `count` is stated

  /// Computes `count` from `percent`.
  void set_total(std::uint64_t commands) { count = (commands * percent + 99) / 100; }
  bool is_due(std::uint64_t failed, std::uint64_t done) const {
    if (when == When::kNever) return false;
    const std::uint64_t so_far = what == What::kFail ? failed : what == What::kDone ? done : done - failed;
    return so_far >= count;
  }
};

/// kUsage.
Result<Halt> parse_halt(std::string_view text);

}  // namespace tfd::exec
