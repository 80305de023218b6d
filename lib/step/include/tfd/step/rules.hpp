#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Makes a program's optimizer for the process that updates variables. Thread rule: pure function.
#include <functional>
#include <memory>

#include "tfd/program/program.hpp"

namespace tfd::step {

using MakeEngine = std::function<Result<std::shared_ptr<function::Engine>>()>;

/// Returns the program's optimizer; a user-defined one is compiled, and only then an engine is made. Without
/// `make_engine` it is uncompiled, as on a worker (program::compile_rules). Blocks while it compiles. Errors of the
/// engine.
Result<std::shared_ptr<const variable::Optimizer>> make_rules(const program::Program& program,
                                                              const MakeEngine& make_engine);

}  // namespace tfd::step
