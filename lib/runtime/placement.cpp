// SPDX-License-Identifier: Apache-2.0
#include "tfd/runtime/task_client.hpp"

namespace tfd::runtime {

Placement place_variables(const program::Program& program, std::vector<std::pair<std::string, std::string>> ps) {
  Placement out{std::move(ps), {}};
  if (out.ps.empty()) return out;
  const int count = static_cast<int>(out.ps.size());
  for (std::size_t i = 0; i < program.variables.size(); ++i)
    out.variables[program.variables[i].name] = variable::place_variable(i, count);
  return out;
}

}  // namespace tfd::runtime
