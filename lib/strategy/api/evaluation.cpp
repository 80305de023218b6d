// SPDX-License-Identifier: Apache-2.0
//
// Evaluations by this process's devices: once, and of every checkpoint that an evaluator sees.
#include "evaluation.hpp"

#include <algorithm>

#include "device/variable_host.hpp"
#include "function_request.hpp"
#include "tfd/base/json_line.hpp"
#include "tfd/step/replica_runner.hpp"

namespace tfd::strategy {

std::vector<std::string> variables_of(const program::FunctionDef& function) {
  auto names = function.variables_read();
  for (const program::InputBinding& input : function.inputs)
    if (!input.lookup.empty()) names.push_back(input.lookup);
  return names;
}

step::VariableValues values_for(const program::FunctionDef& function, const tensor::NamedTensors& state) {
  const auto names = variables_of(function);
  step::VariableValues out;
  for (const auto& [name, value] : state)
    if (std::ranges::find(names, name) != names.end()) out.emplace(name, value);
  return out;
}

namespace {

/// The variables that the function reads. `state`: null for the initial values.
Result<step::VariableValues> variables_from(const program::Program& program, const std::string& function,
                                            const variable::Checkpoint* state, const step::MakeEngine& make_engine) {
  const auto host = TFD_TRY(make_local_host(program, make_engine));
  if (state != nullptr) TFD_TRY(host->import_state(state->state), state->path);
  return values_for(*program.find_function(function), TFD_TRY(host->export_state()));
}

/// Evaluates functions by this process's devices.
class LocalEvaluation {
 public:
  static Result<std::unique_ptr<LocalEvaluation>> make(const program::Program& program, const RunOptions& options) {
    std::unique_ptr<LocalEvaluation> out(new LocalEvaluation(program, options));
    step::ReplicaOptions replicas;
    replicas.data_root = options.data_root;
    replicas.make_engine = options.make_engine;
    replicas.command_environment = options.command_environment;
    replicas.stop_data = out->stop_data_;
    replicas.log = options.train.log;
    out->runner_ = TFD_TRY(step::ReplicaRunner::make(program, replicas));
    return out;
  }

  /// Makes waits for data end, from any thread.
  void stop() { stop_data_->request(); }

  /// kCancelled: the training was asked to stop.
  Result<train::Metrics> evaluate(const std::string& function, std::optional<std::int64_t> steps,
                                  const step::VariableValues& variables) {
    const auto parts = TFD_TRY(
        runner_->evaluate(function, variables, steps, [this] { return options_.train.interrupts->stopping(); }));
    step::MetricAccumulator metrics;
    metrics.add(parts);
    return metrics.values();
  }

 private:
  LocalEvaluation(const program::Program& program, const RunOptions& options) : program_(program), options_(options) {}

  const program::Program& program_;
  const RunOptions& options_;
  const std::shared_ptr<const command::CommandStop> stop_data_ =  // shared with the datasets
      std::make_shared<const command::CommandStop>();
  std::unique_ptr<step::ReplicaRunner> runner_;
};

}  // namespace

Result<train::TrainSummary> follow_as_evaluator(const program::Program& program, const std::string& task,
                                                const RunOptions& options) {
  TFD_TRY(check_followed(program));
  const auto evaluation = TFD_TRY(LocalEvaluation::make(program, options));
  const program::EvaluateDef& evaluate = *program.train->evaluate;
  FollowJob job;
  job.task = task;
  job.keeps_best = true;
  job.on_begin = options.on_begin;
  job.on_stop = [&] { evaluation->stop(); };
  job.evaluate = [&](const variable::Checkpoint& checkpoint) -> Result<train::Metrics> {
    return evaluation->evaluate(evaluate.function, evaluate.steps,
                                TFD_TRY(variables_from(program, evaluate.function, &checkpoint, options.make_engine)));
  };
  return follow_checkpoints(program, job, options.train);
}

train::TrainSummary sit_out(const std::string& task, const train::TrainOptions& options) {
  if (options.say) options.say(fmt::format("{} evaluates a training's checkpoints, and has no part in this", task));
  return {.reason = "left"};
}

Result<EvaluatedWeights> find_evaluated_weights(const program::Program& program, const EvaluationRequest& request,
                                                const step::MakeEngine& make_engine,
                                                const train::TrainOptions& options) {
  const RunRequest weights{.function = request.function, .dataset = {}, .untrained = request.untrained};
  TFD_TRY(check_request(program, weights));
  TFD_TRY(program::check_evaluation(program, *program.find_function(request.function), request.steps), program.path);
  const auto checkpoint = TFD_TRY(find_weights(program, weights, options));
  if (!checkpoint && !request.untrained && !program.variables.empty() && options.say)
    options.say("weights as they were exported, of no training here: --checkpoint FILE|DIR takes trained ones");
  EvaluatedWeights out{
      TFD_TRY(variables_from(program, request.function, checkpoint ? &*checkpoint : nullptr, make_engine))};
  if (!checkpoint) return out;
  out.step = checkpoint->step;
  out.path = checkpoint->path;
  return out;
}

Result<void> write_evaluation(const EvaluatedWeights& weights, const train::Metrics& metrics, Clock::time_point begun,
                              const train::TrainOptions& options) {
  JsonLine line("event", "eval");
  if (weights.step) line.add("step", *weights.step);
  line.add("metrics", metrics);
  if (weights.step) line.add("path", weights.path);
  line.add("seconds", std::chrono::duration<double>(Clock::now() - begun).count());
  return options.write_event(std::move(line).text());
}

Result<train::TrainSummary> evaluate_once(const program::Program& program, const EvaluationRequest& request,
                                          const RunOptions& options) {
  const auto weights = TFD_TRY(find_evaluated_weights(program, request, options.make_engine, options.train));
  const auto evaluation = TFD_TRY(LocalEvaluation::make(program, options));
  options.train.interrupts->on_ask([&] {
    if (options.train.interrupts->stopping()) evaluation->stop();
  });
  if (options.on_begin) options.on_begin();
  const auto begun = Clock::now();
  auto metrics = evaluation->evaluate(request.function, request.steps, weights.variables);
  options.train.interrupts->on_ask({});
  train::TrainSummary summary{.reason = "done"};
  if (!metrics && metrics.error().code == Code::kCancelled && options.train.interrupts->stopping()) {
    summary.reason = "interrupted";
    return summary;
  }
  summary.evaluation = TFD_TRY(std::move(metrics));
  TFD_TRY(write_evaluation(weights, summary.evaluation, begun, options.train));
  return summary;
}

}  // namespace tfd::strategy
