// SPDX-License-Identifier: Apache-2.0
#include "tfd/task/placement.hpp"

namespace tfd::task {

Placement place_variables(const program::Program& program, std::vector<std::pair<std::string, std::string>> ps,
                          const step::ReplicaCopies& copies) {
  Placement out{std::move(ps), {}, {}};
  if (out.ps.empty()) return out;
  // It can't fail: the program was checked.
  auto placed =
      variable::place_variables(program::variables_to_place(program), static_cast<int>(out.ps.size())).value();
  for (variable::PlacedVariable& variable : placed) {
    out.variables[variable.name] = variable.ps.front();
    for (std::string& name : copies.names_of(variable.name)) {
      variable::PlacedVariable& one = out.placed.emplace(name, variable).first->second;
      one.name = std::move(name);
    }
  }
  return out;
}

}  // namespace tfd::task
