#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Charts drawn by gnuplot, a program of its own that is looked up in PATH: it draws characters and SVG, chooses ticks,
// and every distribution has it. C++ libraries draw one of both (FTXUI, implot), or start gnuplot themselves
// (Matplot++). Thread rule: main thread.
#include <string>
#include <vector>

#include "curves.hpp"
#include "tfd/base/environment.hpp"

namespace tfd::plot {

struct Drawing {
  bool is_svg = false;       // else characters, for a terminal
  std::size_t columns = 80;  // of characters
  std::size_t rows = 18;     // of characters, for each chart
  bool has_color = false;    // of characters
  bool has_log_scale = false;
};

/// The script for gnuplot: a chart below the other.
std::string script_of(const std::vector<Chart>& charts, const Drawing& drawing);
/// Returns the output of gnuplot. kFailedPrecondition: there is no gnuplot; kInternal with its words: it failed;
/// kDeadlineExceeded.
Result<std::string> draw(const std::vector<Chart>& charts, const Drawing& drawing, const Environment& env);

}  // namespace tfd::plot
