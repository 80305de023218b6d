// SPDX-License-Identifier: Apache-2.0
#include "tfd/strategy/ps_run.hpp"

#include <algorithm>
#include <set>

#include "checkpoint_manager.hpp"
#include "ps_session.hpp"
#include "tfd/base/json_line.hpp"
#include "tfd/base/text.hpp"
#include "tfd/tensor/json.hpp"

namespace tfd::strategy {
namespace {

/// Of one result its value, of several a list of them.
std::string results_json(const std::vector<tensor::Tensor>& results) {
  std::string out;
  for (const tensor::Tensor& one : results) {
    if (!out.empty()) out += ", ";
    tensor::append_json(one, out);
  }
  return results.size() == 1 ? out : "[" + out + "]";
}

bool is_changed_by(const program::FunctionDef& function, const std::string& variable) {
  return std::ranges::any_of(function.outputs, [&](const program::OutputBinding& output) {
    const bool is_value = output.kind == program::OutputKind::kResult || output.kind == program::OutputKind::kMetric;
    return !is_value && output.name == variable;
  });
}

bool is_random(const variable::Initializer& init) {
  return std::holds_alternative<variable::RandomInit>(init) || std::holds_alternative<variable::OrthogonalInit>(init);
}

/// The tables whose rows it looks up are among them.
std::set<std::string> variables_of(const program::FunctionDef& function) {
  const auto read = function.variables_read();
  std::set<std::string> names(read.begin(), read.end());
  for (const program::InputBinding& input : function.inputs)
    if (!input.lookup.empty()) names.insert(input.lookup);
  return names;
}

class PsRun {
 public:
  PsRun(const program::Program& stated, const PsProgram& program, const ParameterServerStrategy& strategy,
        const PsTrainingOptions& options, const RunRequest& request)
      : stated_(stated),
        program_(program),
        strategy_(strategy),
        options_(options),
        request_(request),
        session_(program, strategy, options) {}

  Result<TrainSummary> run() {
    options_.train.interrupts->on_ask([this] { session_.interrupted(); });
    auto summary = run_all();
    options_.train.interrupts->on_ask({});
    return summary;
  }

 private:
  Result<TrainSummary> run_all() {
    TFD_TRY(begin());
    TrainSummary summary{.reason = "end_of_data"};
    for (;;) {
      if (options_.train.interrupts->stopping()) {
        summary.reason = "interrupted";
        break;
      }
      auto outcome = one();
      if (!outcome && outcome.error().code == Code::kOutOfRange) break;
      const Result<void> applied = outcome ? apply(outcome->updates) : fail(outcome.error());
      if (!applied && applied.error().code == Code::kPermissionDenied && !strategy_.is_chief()) {
        TFD_TRY(session_.attach());  // the chief came back and began anew: what this was computed from is no more
        continue;
      }
      TFD_TRY(applied);
      TFD_TRY(write(outcome->results));
      ++summary.step;
      if (!outcome->takes_data) break;
    }
    TFD_TRY(finish(summary.reason == "interrupted"));
    return summary;
  }

  Result<void> begin() {
    if (strategy_.is_chief())
      TFD_TRY(session_.initialise(true, [this] { return find_weights(); }));
    else
      TFD_TRY(session_.attach());
    const bool is_named = request_.untrained || !options_.train.checkpoint.empty();
    if (session_.adopted() && is_named)
      return fail(Code::kInvalidArgument,
                  "{}: the parameter servers hold the variables of a training that isn't done: use --cluster none to "
                  "run the function separately",
                  request_.untrained ? "--untrained" : "--checkpoint");
    if (options_.on_begin) options_.on_begin();
    auto replicas = TFD_TRY(session_.replica_options());
    replicas.order.stream = 0;  // the data as they are, whatever was trained before
    runner_ = TFD_TRY(runtime::ReplicaRunner::make(program_.program, replicas));
    return {};
  }

  /// Named, or the latest of the program's own; said in any case, where the function reads any.
  Result<std::optional<variable::Checkpoint>> find_weights() const {
    const program::FunctionDef& function = *stated_.find_function(request_.function);
    if (request_.untrained) return std::nullopt;
    std::optional<variable::Checkpoint> found;
    const auto& train = stated_.train;
    const bool has_directory = train && train->checkpoint;
    if (!options_.train.checkpoint.empty())
      found = TFD_TRY(load_weights(stated_, options_.train.checkpoint, options_.train.log));
    else if (has_directory && !variables_of(function).empty())
      found = TFD_TRY(latest_of(train->checkpoint->directory));
    if (found && options_.train.say) options_.train.say(fmt::format("weights from {}", found->path));
    if (found || !needs_weights(stated_, function)) return found;
    return fail(Code::kInvalidArgument,
                "function '{}' needs trained variables, but {}: give --checkpoint FILE|DIR, or --untrained to use the "
                "initial values",
                request_.function,
                has_directory ? fmt::format("there is no checkpoint in {}", train->checkpoint->directory)
                              : std::string("the program has no train.checkpoint"));
  }

  Result<std::optional<variable::Checkpoint>> latest_of(const std::string& directory) const {
    std::vector<std::string> skipped;
    auto found = TFD_TRY(variable::load_latest_checkpoint(directory, &skipped));
    for (const std::string& one : skipped) options_.train.log.warning("skipped a checkpoint: {}", one);
    if (found) TFD_TRY(check_state(stated_, *found));
    return found;
  }

  Result<runtime::RunOutcome> one() {
    const auto names =
        program_.copies.stored_names(program_.program.find_function(request_.function)->variables_read());
    auto values = TFD_TRY(session_.host().read(names));
    runtime::VariableValues variables;
    for (std::size_t i = 0; i < names.size(); ++i) variables.emplace(names[i], std::move(values[i]));
    return runner_->run(request_.function, request_.dataset, variables, static_cast<bool>(request_.predict));
  }

  Result<void> apply(const std::vector<variable::Update>& updates) {
    session_.count_update();
    return updates.empty() ? Result<void>() : session_.host().update(updates);
  }

  /// One line: what each replica returned, or the one value of all.
  Result<void> write(const std::vector<std::vector<tensor::Tensor>>& results) {
    if (request_.predict) return request_.predict(TFD_TRY(predictions(results)));
    const Combine& combine = request_.combine;
    std::string line;
    if (combine.reduce || combine.gather_axis) {
      line = results_json(TFD_TRY(combined(results), "function '" + request_.function + "'")) + "\n";
    } else {
      JsonLine replicas;
      for (std::size_t replica = 0; replica < results.size(); ++replica)
        replicas.add_raw(std::to_string(replica), results_json(results[replica]));
      line = std::move(replicas).text();
    }
    return options_.train.write_event ? options_.train.write_event(line) : Result<void>();
  }

  /// Rows of all replicas, which have the element's rows in their order.
  Result<std::vector<tensor::Tensor>> predictions(const std::vector<std::vector<tensor::Tensor>>& results) const {
    std::vector<tensor::Tensor> out;
    for (const DistributedValue& value : regroup(results))
      out.push_back(TFD_TRY(gather(value, 0), "function '" + request_.function + "'"));
    for (std::size_t i = 0; i < out.size(); ++i)
      if (out[i].shape()[0] != out[0].shape()[0])
        return fail(Code::kInvalidArgument, "function '{}': results 0 and {} have {} and {} rows, not one per example",
                    request_.function, i, out[0].shape()[0], out[i].shape()[0]);
    return out;
  }

  Result<std::vector<tensor::Tensor>> combined(const std::vector<std::vector<tensor::Tensor>>& results) const {
    const Combine& combine = request_.combine;
    std::vector<tensor::Tensor> out;
    for (const DistributedValue& value : regroup(results))
      out.push_back(combine.reduce ? TFD_TRY(reduce(*combine.reduce, value, combine.axes, results.size()))
                                   : TFD_TRY(gather(value, *combine.gather_axis)));
    return out;
  }

  // Of an interrupted one only where all others left too: those who go on need the parameter servers.
  Result<void> finish(bool interrupted) {
    if (strategy_.is_local()) return {};
    if (!strategy_.is_chief()) return session_.leave();
    if (interrupted) {
      if (options_.keep_servers) return {};
      const bool alone = TFD_TRY(session_.have_others_left(Deadline::after(options_.train.grace / 4)));
      return alone ? session_.dismiss_servers() : Result<void>();
    }
    TFD_TRY(session_.wait_for_others());
    return options_.keep_servers ? Result<void>() : session_.dismiss_servers();
  }

  const program::Program& stated_;  // without the strategy's own variables
  const PsProgram& program_;
  const ParameterServerStrategy& strategy_;
  const PsTrainingOptions& options_;
  const RunRequest& request_;
  PsSession session_;
  std::unique_ptr<runtime::ReplicaRunner> runner_;
};

/// One row per example of data that end, and nothing else.
Result<void> check_prediction(const program::Program& program, const RunRequest& request) {
  const program::FunctionDef& function = *program.find_function(request.function);
  const auto refuse = [&](std::string_view why) {
    return fail(Code::kInvalidArgument, "function '{}' can't predict: {}", request.function, why);
  };
  if (function.has_updates()) return refuse("it updates variables");
  if (std::ranges::none_of(function.outputs, [](const auto& one) { return one.kind == program::OutputKind::kResult; }))
    return refuse("it has no output that is a result");
  if (program.endless_datasets.contains(request.dataset))
    return fail(Code::kInvalidArgument, "dataset '{}' never ends: predictions need one that does", request.dataset);
  return {};
}

}  // namespace

bool needs_weights(const program::Program& program, const program::FunctionDef& function) {
  const auto names = variables_of(function);
  if (program.train && program.train->checkpoint) return !names.empty();
  const program::FunctionDef* trains = program.train ? program.find_function(program.train->function) : nullptr;
  return std::ranges::any_of(program.variables, [&](const program::VariableDef& variable) {
    if (!names.contains(variable.name)) return false;
    if (std::holds_alternative<variable::FileInit>(variable.init)) return false;
    return (trains != nullptr && is_changed_by(*trains, variable.name)) || is_random(variable.init);
  });
}

Result<TrainSummary> run_on_parameter_servers(const program::Program& program, const ParameterServerStrategy& strategy,
                                              PsTrainingOptions options, const RunRequest& request) {
  std::vector<std::string> names;
  for (const auto& function : program.functions) names.push_back(function.name);
  if (program.find_function(request.function) == nullptr)
    return fail(Code::kInvalidArgument, "no function '{}'{}", printable(request.function),
                did_you_mean(request.function, names));
  if (!request.dataset.empty() && !program.datasets.contains(request.dataset))
    return fail(Code::kInvalidArgument, "no dataset '{}'", printable(request.dataset));
  if (request.predict) TFD_TRY(check_prediction(program, request));
  if (strategy.is_parameter_server() || strategy.is_evaluator())
    return fail(Code::kInvalidArgument, "{} is not a worker", strategy.task_name());
  if (!options.train.interrupts) options.train.interrupts = std::make_shared<Interrupts>();
  const PsProgram made = TFD_TRY(make_ps_program(program, strategy));
  return PsRun(program, made, strategy, options, request).run();
}

}  // namespace tfd::strategy
