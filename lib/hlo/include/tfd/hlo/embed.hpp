#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// A text module's functions, under names of their own, for use inside another module: two modules that both have a
// @main and a @_where can be called from one. Thread rule: free function, plain value.
#include <string>
#include <string_view>
#include <vector>

#include "tfd/base/error.hpp"
#include "tfd/hlo/module.hpp"

namespace tfd::hlo {

struct Embedded {
  std::string functions;  // text of private functions, and of the meshes that they mention
  std::string aliases;    // text of the attribute aliases that they mention, which stand before a module
  std::string main;       // new name of @main, without '@'
  Signature signature;    // of it
  std::vector<std::string> custom_calls;
};

/// Every symbol `x` that the module defines becomes `PREFIX.x`, every alias `PREFIX_x`; locations are dropped, donation
/// is the outer module's to say. `prefix`: an identifier, another one for each module that is embedded. `replicas`:
/// that the outer module is for. kUnimplemented: bytecode, or a module for several partitions or other replicas.
/// kInvalidArgument: text that can't be read.
Result<Embedded> embed(const Module& module, std::string_view prefix, int replicas = 1);

}  // namespace tfd::hlo
