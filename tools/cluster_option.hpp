#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// --cluster, the same in every tool that asks resolve::find_spec() for a spec. Thread rule: plain functions.
#include <string>
#include <utility>

#include "tfd/cli/tool.hpp"

namespace tfd {

inline cli::Option cluster_option(std::string& target,
                                  std::string help = "The cluster spec; else stdin, else TF_CONFIG") {
  return {.names = "--cluster", .placeholder = "FILE|-|KIND", .help = std::move(help), .target = &target};
}

}  // namespace tfd
