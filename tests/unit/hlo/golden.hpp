#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// The modules under tests/golden/modules. Thread rule: free functions.
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <string>

namespace tfd::test {

inline std::string golden_path(const std::string& name) { return TFD_GOLDEN_MODULES "/" + name; }

inline std::string golden(const std::string& name) {
  std::ifstream file(golden_path(name), std::ios::binary);
  if (!file) throw std::runtime_error("no golden module " + name);
  std::stringstream out;
  out << file.rdbuf();
  return out.str();
}

}  // namespace tfd::test
