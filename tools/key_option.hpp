#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// --key-file, the same in every tool that serves or connects. Its value is for task::find_key(). Thread rule: plain
// functions.
#include <string>
#include <utility>

#include "option_sections.hpp"
#include "tfd/cli/tool.hpp"

namespace tfd {

inline cli::Option key_option(std::string& target) {
  return {.names = "--key-file",
          .placeholder = "FILE|none",
          .help = "The cluster's key file; none: no key",
          .target = &target,
          .shown_default = "TFD_KEY_FILE, the spec's, ~/.config/tfd/key",
          .complete = "file",
          .section = section::kGroup,
          .essential = true};
}

/// The environment variable, for the tool's table of variables.
inline std::pair<std::string, std::string> key_variable() {
  return {"TFD_KEY_FILE", "The cluster's key file, or none, if --key-file isn't given"};
}

}  // namespace tfd
