#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Reads the parts of StableHLO text that tfd needs: the signature of the public @main, how many devices the module
// wants, and which custom calls it makes. No more of MLIR than that: bodies are skipped over by their brackets. Safe on
// cut-off and hostile text (linear time, no recursion). Thread rule: free function.
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "body.hpp"
#include "tfd/base/error.hpp"
#include "tfd/hlo/module.hpp"

namespace tfd::hlo {

/// Position of jax's platform index: bytes from its '%' to after its comma.
struct PlatformArgument {
  std::string value;  // without '%'
  std::size_t begin = 0, end = 0;
};

/// Replaces bytes of the text.
struct Edit {
  std::size_t begin = 0, end = 0;
  std::string text = {};
};

/// Positions of @main's complex arguments and results, which the signature has in parts.
struct ComplexValues {
  struct Argument {
    std::size_t index = 0;   // in the signature
    std::string_view value;  // "%z", of the text
  };
  std::vector<Argument> arguments;
  std::vector<std::size_t> results;  // in the signature
  std::vector<Edit> header;          // their types and shardings become those of their parts
  std::vector<std::size_t> returns;  // positions of "return" in @main, whether any result is complex or not
};

/// A parameter of @main without a sharding, and the place for one: before `at` or, with `in_braces`, among the existing
/// attributes. `bare`: start of a result without parentheses.
struct UnstatedSharding {
  std::size_t at = 0;
  bool in_braces = false;
  bool has_others = false;  // attributes
  std::optional<std::size_t> bare = {};
  std::size_t rank = 0;
};

struct ModuleFacts {
  Signature signature;
  std::string sharding_problem = {};  // why a parameter's sharding can't be read
  int partitions = 1, replicas = 1;
  bool may_donate = false;                   // it mentions aliasing or donation anywhere
  std::optional<PlatformArgument> platform;  // not in the signature
  ComplexValues complex;
  std::size_t body_at = 0;                 // after the '{' of @main's body
  std::vector<UnstatedSharding> unstated;  // in the order of the text
  std::string mesh = {};                   // the name of one that the module defines; empty: none
  BodyFacts body;
};

/// kInvalidArgument with the line: "line 3: argument 1 (%arg1): …".
Result<ModuleFacts> parse_mlir_text(std::string_view text);

}  // namespace tfd::hlo
