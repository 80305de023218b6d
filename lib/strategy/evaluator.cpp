// SPDX-License-Identifier: Apache-2.0
#include "evaluator.hpp"

#include <algorithm>

#include "tfd/strategy/follow.hpp"
#include "variable_host.hpp"

namespace tfd::strategy {

runtime::VariableValues values_for(const program::FunctionDef& function, const runtime::NamedState& state) {
  const auto names = function.variables_read();
  const auto is_wanted = [&](const std::string& name) {
    return std::ranges::find(names, name) != names.end() ||
           std::ranges::find(function.inputs, name, &program::InputBinding::lookup) != function.inputs.end();
  };
  runtime::VariableValues out;
  for (const auto& [name, value] : state)
    if (is_wanted(name)) out.emplace(name, value);
  return out;
}

Result<TrainSummary> follow_as_evaluator(const program::Program& program, const ParameterServerStrategy& strategy,
                                         const PsTrainingOptions& options) {
  TFD_TRY(check_followed(program));
  runtime::ReplicaOptions replicas;
  replicas.data_root = options.data_root;
  replicas.make_engine = options.make_engine;
  replicas.command_environment = options.command_environment;
  const auto runner = TFD_TRY(runtime::ReplicaRunner::make(program, replicas));
  const program::EvaluateDef& evaluate = *program.train->evaluate;
  FollowJob job;
  job.task = strategy.task_name();
  job.keeps_best = true;
  job.on_begin = options.on_begin;
  job.evaluate = [&](const variable::Checkpoint& checkpoint) -> Result<Metrics> {
    const auto host = TFD_TRY(make_local_host(program, options.make_engine));
    TFD_TRY(host->import_state(checkpoint.state), checkpoint.path);
    const auto state = TFD_TRY(host->export_state());
    const auto variables = values_for(*program.find_function(evaluate.function), state);
    const auto parts = TFD_TRY(runner->evaluate(evaluate.function, variables, evaluate.steps,
                                                [&] { return options.train.interrupts->stopping(); }));
    runtime::MetricAccumulator metrics;
    metrics.add(parts);
    return metrics.values();
  };
  return follow_checkpoints(program, job, options.train);
}

}  // namespace tfd::strategy
