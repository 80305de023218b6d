#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// What a training on one host would do, without doing it: devices, replicas, where variables are, what a step computes
// and moves, and whether it fits into memory. Thread rule: pure functions but for the engine's.
#include <functional>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

#include "tfd/base/units.hpp"
#include "tfd/function/devices.hpp"
#include "tfd/function/function.hpp"
#include "tfd/program/program.hpp"
#include "tfd/strategy/device_training.hpp"

namespace tfd::strategy {

struct ExplainOptions {
  std::string strategy;  // its name
  std::function<Result<std::shared_ptr<function::Engine>>()> make_engine;
  function::DeviceChoice devices;               // of the replicas
  std::optional<std::string> why_on_host = {};  // variables; nullopt: they are on the devices
  StepMode step = StepMode::kAuto;              // of variables on the devices
  std::optional<Bytes> free_memory = {};        // of this host; nullopt: not known
};

/// Of program.train, which must be there: its modules are compiled, nothing is run. The keys are those of tfd-run(1),
/// EXPLANATIONS; sizes are in bytes. Errors of compiling.
Result<nlohmann::ordered_json> explain(const program::Program& program, const ExplainOptions& options);
/// The same for people, in lines.
std::string format_explanation(const nlohmann::ordered_json& plan);

}  // namespace tfd::strategy
