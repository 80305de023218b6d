// SPDX-License-Identifier: Apache-2.0
#include "tfd/step/rules.hpp"

namespace tfd::step {

Result<std::shared_ptr<const variable::Optimizer>> make_rules(const program::Program& program,
                                                              const MakeEngine& make_engine) {
  if (!program.update || !make_engine) return program.rules;
  const auto engine = TFD_TRY(make_engine());  // kept alive by the compiled functions
  return program::compile_rules(program, [&](const hlo::Module& module) { return engine->compile(module); });
}

}  // namespace tfd::step
