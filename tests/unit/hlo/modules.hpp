#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Texts of modules, read as tests of several files need it.
#include <doctest/doctest.h>

#include <optional>
#include <string>

#include "tfd/hlo/module.hpp"

namespace tfd::hlo::test {

/// The module of a text that is right.
inline Module parsed(const std::string& code) {
  Result<Module> module = make_module("m.mlir", code, std::nullopt);
  REQUIRE_MESSAGE(module, (module ? "" : module.error().message));
  return *module;
}

/// The error of one that isn't.
inline std::string error_of(const std::string& code, const std::optional<std::string>& sidecar = std::nullopt) {
  const Result<Module> module = make_module("m.mlir", code, sidecar);
  REQUIRE_FALSE(module);
  CHECK(module.error().code == Code::kInvalidArgument);
  return module.error().message;
}

}  // namespace tfd::hlo::test
