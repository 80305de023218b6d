#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// The optimizer of a program where variables are updated. Thread rule: pure function.
#include <functional>
#include <memory>

#include "tfd/program/program.hpp"

namespace tfd::step {

using MakeEngine = std::function<Result<std::shared_ptr<function::Engine>>()>;

/// The program's rules; modules of one's own are compiled, and only then is there an engine. Without `make_engine` they
/// are as on a worker (program::compile_rules). Blocks while it compiles. Errors of the engine.
Result<std::shared_ptr<const variable::Optimizer>> make_rules(const program::Program& program,
                                                              const MakeEngine& make_engine);

}  // namespace tfd::step
