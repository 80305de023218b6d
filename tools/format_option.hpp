#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// --format, of the tools that print a training's events. Thread rule: plain functions.
#include <string>

#include "tfd/cli/tool.hpp"

namespace tfd {

inline cli::Option format_option(std::string& format) {
  return {.names = "--format",
          .placeholder = "FORM",
          .help =
              "How stdout has a training's events: a line of text for each, or of JSON; auto is text on a terminal, "
              "else JSON",
          .target = &format,
          .choices = {"auto", "text", "json"},
          .env = "TFD_FORMAT",
          .shown_default = "auto"};
}

inline bool prints_text(const std::string& format, const cli::Io& io) {
  return format == "text" || (format != "json" && io.out.is_terminal());
}

}  // namespace tfd
