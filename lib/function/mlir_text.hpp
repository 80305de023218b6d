#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Reads what tfd needs from StableHLO text: the signature of the public @main and how many devices the module wants. No
// more of MLIR than that: bodies are only skipped over by their brackets. Safe on cut-off and hostile text (linear
// time, no recursion). Thread rule: free function.
#include <string_view>

#include "tfd/base/error.hpp"
#include "tfd/function/module.hpp"

namespace tfd::function {

struct ModuleFacts {
  Signature signature;
  int partitions = 1, replicas = 1;
  bool may_donate = false;  // it mentions aliasing or donation anywhere
};

/// kInvalidArgument with the line: "line 3: argument 1 (%arg1): …".
Result<ModuleFacts> parse_mlir_text(std::string_view text);

}  // namespace tfd::function
