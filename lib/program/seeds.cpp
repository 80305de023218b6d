// SPDX-License-Identifier: Apache-2.0
//
// One seed for all that draws: each initializer and shuffle gets a seed that is a function (SHA-256) of the program's
// and of its own name, so that it doesn't depend on the other seeds.
#include <variant>

#include "draft.hpp"
#include "tfd/base/sha256.hpp"

namespace tfd::program {
namespace {

std::uint64_t sub_seed(const Program& program, std::string_view kind, std::string_view name, std::size_t number = 0) {
  Sha256 sum;
  for (const std::string& part :
       {std::to_string(program.seed), std::string(kind), std::string(name), std::to_string(number)})
    sum.add_part(part);
  return std::stoull(sum.hex().substr(0, 13), nullptr, 16);  // 52 bits, which are exact in any JSON reader
}

}  // namespace

void seed_variables(const Program& program, std::vector<VariableDef>& variables) {
  if (!program.states_seed) return;
  for (VariableDef& variable : variables)
    std::visit(
        [&](auto& init) {
          if constexpr (requires { init.seed; })
            if (!init.seed) init.seed = sub_seed(program, "variables", variable.name);
        },
        variable.init);
}

void seed_dataset(const Program& program, const std::string& name, data::Plan& plan) {
  if (!program.states_seed) return;
  data::seed_shuffles(plan, [&](std::size_t number) { return sub_seed(program, "datasets", name, number); });
}

}  // namespace tfd::program
