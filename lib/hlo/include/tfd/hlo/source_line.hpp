#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Lines of a module that tfd wrote around others (embed.hpp), as lines of the files which these are from: for what a
// compiler says of them. Thread rule: free function, plain value.
#include <optional>
#include <string_view>

namespace tfd::hlo {

/// Where a line of a module that has others in it is from.
struct SourceLine {
  std::string_view file;  // the embedded module's name; empty: no file's, the module was written around it
  int line = 0;           // of the file, or else of the module; from 1
  std::string_view text;  // what stands there, in the module
};
/// nullopt: nothing is embedded, so lines are the module's own. Views into `code`.
std::optional<SourceLine> source_of_line(std::string_view code, int line);

}  // namespace tfd::hlo
