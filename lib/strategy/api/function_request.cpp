// SPDX-License-Identifier: Apache-2.0
#include "function_request.hpp"

#include <algorithm>

#include "tfd/base/json_line.hpp"
#include "tfd/base/text.hpp"
#include "tfd/strategy/evaluator.hpp"
#include "tfd/tensor/json.hpp"
#include "tfd/train/checkpoint_manager.hpp"

namespace tfd::strategy {
namespace {

using tensor::Tensor;

/// JSON of the results: a single value, or a list of several.
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

Result<std::optional<variable::Checkpoint>> latest_of(const program::Program& program, const std::string& directory,
                                                      const train::TrainOptions& options) {
  std::vector<std::string> skipped;
  auto found = TFD_TRY(variable::load_latest_checkpoint(directory, &skipped));
  for (const std::string& one : skipped) options.log.warning("skipped a checkpoint: {}", one);
  if (found) TFD_TRY(train::check_state(program, *found));
  return found;
}

/// Predictions have one row per example, of finite data.
Result<void> check_prediction(const program::Program& program, const RunRequest& request) {
  const program::FunctionDef& function = *program.find_function(request.function);
  const auto refuse = [&](std::string_view why) {
    return fail(Code::kInvalidArgument, "function '{}' can't predict: {}", request.function, why);
  };
  if (function.has_updates()) return refuse("it updates variables");
  if (std::ranges::none_of(function.outputs, [](const auto& one) { return one.kind == program::OutputKind::kResult; }))
    return refuse("it has no output that is a result");
  if (!takes_data(function)) return refuse("it takes no data");
  if (program.endless_datasets.contains(request.dataset))
    return fail(Code::kInvalidArgument, "dataset '{}' never ends: predictions need one that does", request.dataset);
  return {};
}

}  // namespace

bool takes_data(const program::FunctionDef& function) {
  const auto is_data = [](const program::InputBinding& input) { return input.kind == program::InputKind::kDataset; };
  return takes_arguments(function) || std::ranges::any_of(function.inputs, is_data);
}

bool needs_weights(const program::Program& program, const program::FunctionDef& function) {
  const auto names = variables_of(function);
  if (program.train && program.train->checkpoint) return !names.empty();
  const program::FunctionDef* trains = program.train ? program.find_function(program.train->function) : nullptr;
  return std::ranges::any_of(program.variables, [&](const program::VariableDef& variable) {
    if (std::ranges::find(names, variable.name) == names.end()) return false;
    if (std::holds_alternative<variable::FileInit>(variable.init)) return false;
    return (trains != nullptr && is_changed_by(*trains, variable.name)) || is_random(variable.init);
  });
}

Result<void> check_request(const program::Program& program, const RunRequest& request) {
  std::vector<std::string> names;
  for (const auto& function : program.functions) names.push_back(function.name);
  const program::FunctionDef* function = program.find_function(request.function);
  if (function == nullptr)
    return fail(Code::kInvalidArgument, "no function '{}'{} (there: {})", printable(request.function),
                did_you_mean(request.function, names), printable(join_words(names)));
  if (!request.dataset.empty() && !program.datasets.contains(request.dataset)) {
    names.clear();
    for (const auto& [name, plan] : program.datasets) names.push_back(name);
    return fail(Code::kInvalidArgument, "no dataset '{}'{} (there: {})", printable(request.dataset),
                did_you_mean(request.dataset, names), printable(join_words(names)));
  }
  if (request.dataset.empty() && !request.batches && takes_arguments(*function))
    return fail(Code::kInvalidArgument, "'{}' takes arguments: it needs a dataset to take them from", request.function);
  return request.predict ? check_prediction(program, request) : Result<void>();
}

Result<std::optional<variable::Checkpoint>> find_weights(const program::Program& program, const RunRequest& request,
                                                         const train::TrainOptions& options) {
  const program::FunctionDef& function = *program.find_function(request.function);
  if (request.untrained) return std::nullopt;
  std::optional<variable::Checkpoint> found;
  const auto& train = program.train;
  const bool has_directory = train && train->checkpoint;
  if (!options.checkpoint.empty())
    found = TFD_TRY(train::load_weights(program, options.checkpoint, options.log));
  else if (has_directory && !variables_of(function).empty())
    found = TFD_TRY(latest_of(program, train->checkpoint->directory, options));
  if (found && options.say) options.say(fmt::format("weights from {}", found->path));
  if (found || !needs_weights(program, function)) return found;
  return fail(Code::kInvalidArgument,
              "function '{}' needs trained variables, but {}: give --checkpoint FILE|DIR, or --untrained to use the "
              "initial values",
              request.function,
              has_directory ? fmt::format("there is no checkpoint in {}", train->checkpoint->directory)
                            : std::string("the program has no train.checkpoint"));
}

Result<void> write_results(const RunRequest& request, const std::vector<DistributedValue>& results,
                           const CombineValue& combine, const train::TrainOptions& options,
                           const std::vector<std::size_t>& places) {
  std::string line;
  if (request.combine.reduce || request.combine.gather_axis) {
    std::vector<Tensor> combined;
    for (const DistributedValue& value : results)
      combined.push_back(TFD_TRY(combine(value), "function '" + request.function + "'"));
    line = results_json(combined) + "\n";
  } else {
    const auto local = local_results(results);
    JsonLine replicas;
    for (std::size_t replica = 0; replica < local.size(); ++replica)
      replicas.add_raw(std::to_string(places.empty() ? replica : places[replica]), results_json(local[replica]));
    line = std::move(replicas).text();
  }
  return options.write_event ? options.write_event(line) : Result<void>();
}

}  // namespace tfd::strategy
