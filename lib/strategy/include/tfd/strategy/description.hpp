#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Describes a program, for people and as JSON: its variables, and each function's inputs, outputs and costs. Nothing is
// run. Thread rule: pure functions.
#include <functional>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "tfd/base/error.hpp"
#include "tfd/function/function.hpp"
#include "tfd/program/program.hpp"

namespace tfd::strategy {

/// {"program", "parameters": elements of trained variables, "variables": {"count", "bytes", "slot_bytes", "each":
/// [{"name", "dtype", "shape", "parameters", "trained"}]}, "functions": [{"name", "kind", "inputs": [{"is", "name",
/// "dtype", "shape"}], "outputs": likewise, of a ratio with "part", "modules": [{"module", "flops", "memory":
/// {"arguments", "results", "temporary"}}]}]}. A module's costs on one device are reported by `engine` (null: left
/// out), which compiles it; flops that it doesn't report are hlo::estimate_flops(). Errors of the compiler.
Result<nlohmann::ordered_json> describe_program(const program::Program& program, function::Engine* engine);
std::string format_description(const nlohmann::ordered_json& description);

/// Costs of a program on one device, as far as the plug-in reports them: {"flops", "memory"}.
nlohmann::ordered_json cost_of(const function::DeviceProgram& program);
/// "19.2 kB".
std::string bytes_text(const nlohmann::ordered_json& bytes);
/// "1.2e+06 flops, 33 kB in, 20 kB out, 40 kB temporary".
std::string cost_text(const nlohmann::ordered_json& cost);

}  // namespace tfd::strategy
