#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Maps lines of a module with others embedded (embed.hpp) to lines of their files, for a compiler's messages.
// Thread rule: free function, plain value.
#include <optional>
#include <string_view>

namespace tfd::hlo {

/// Origin of a line of such a module.
struct SourceLine {
  std::string_view file;  // the embedded module's name; empty for lines of the outer module
  int line = 0;           // of the file, or else of the module; from 1
  std::string_view text;  // the line itself, in the outer module
};
/// nullopt: nothing is embedded, so lines are the module's own. Views into `code`.
std::optional<SourceLine> source_of_line(std::string_view code, int line);

}  // namespace tfd::hlo
