// SPDX-License-Identifier: Apache-2.0
//
// A coordinator's workers each have all the data, in their own order, asynchronous workers a part of it; how many
// workers there will be isn't known. So elements are counted here, the dataset is repeated forever, and the number of
// steps follows from the elements of all epochs (as the ClusterCoordinator page recommends).
#include <algorithm>

#include "tfd/command/command.hpp"
#include "tfd/step/program_data.hpp"
#include "tfd/train/epochs.hpp"

namespace tfd::train {
namespace {

/// A stand-in for maps, which change the content of elements, not their number.
Result<data::MapFunction> stand_in(const program::Program& program, const std::string& name,
                                   const std::vector<std::string>& fields) {
  const program::FunctionDef* function = program.find_function(name);
  if (function == nullptr) return fail(Code::kInvalidArgument, "no function '{}'", name);
  data::MapFunction out;
  data::Element element;
  const auto& results = function->modules.front().signature.results;
  for (std::size_t i = 0; i < fields.size() && i < results.size(); ++i) {
    out.spec.push_back({fields[i], results[i].spec.dtype, results[i].spec.shape});
    element.push_back(tensor::Tensor::zeros(results[i].spec.dtype, results[i].spec.shape));
  }
  out.call = [element](const data::Element&) -> Result<data::Element> { return element; };
  return out;
}

/// Counts elements; functions are called only if they affect the number.
Result<std::int64_t> count_elements(const program::Program& program, const std::string& name,
                                    const EpochsOptions& options) {
  const auto plan = program.datasets.find(name);
  if (plan != program.datasets.end() && data::counts_by_content(plan->second)) {
    if (!options.make_engine)
      return fail(Code::kUnimplemented, "their number depends on a function that only the workers call");
    return data::count_elements(*TFD_TRY(step::open_dataset(program, name,
                                                            {.data_root = options.data_root,
                                                             .make_engine = options.make_engine,
                                                             .command_environment = options.command_environment})));
  }
  data::DatasetContext context;
  context.directory = options.data_root;  // else as stated in the program
  if (options.make_engine)
    context.commands = std::make_shared<const command::CommandPlace>(command::CommandPlace{
        options.data_root.empty() ? program.directory : options.data_root, options.command_environment});
  context.find_function = [&](const std::string& function, const data::ElementSpec&,
                              const std::vector<std::string>& fields) { return stand_in(program, function, fields); };
  return data::count_elements(*TFD_TRY(program::make_dataset(program, name, context)));
}

std::string why_empty(const program::Program& program, const std::string& name, const EpochsOptions& options) {
  return data::why_empty(program.datasets.at(name), [&](const data::Plan& part) {
    program::Program beginning = program;
    beginning.datasets.at(name) = part;
    return count_elements(beginning, name, options);
  });
}

std::string dataset_of(const program::Program& program) {
  for (const auto& input : program.find_function(program.train->function)->inputs)
    if (input.kind == program::InputKind::kDataset) return input.name;
  return {};
}

}  // namespace

std::int64_t steps_over(std::int64_t elements, int replicas) {
  return elements / replicas + (elements % replicas != 0 ? 1 : 0);
}

int elements_of_step(std::int64_t step, std::int64_t elements, int replicas) {
  return static_cast<int>(std::clamp<std::int64_t>(elements - step * replicas, 1, replicas));
}

Result<StepsOfEpochs> epochs_as_steps(program::Program program, const EpochsOptions& options) {
  if (!program.train || !program.train->epochs) return StepsOfEpochs{std::move(program)};
  const std::string dataset = dataset_of(program);
  const auto count = count_elements(program, dataset, options);
  if (!count) {
    // Wrong data stay wrong with train.steps; only data missing here may exist at the workers.
    const bool is_of_data = count.error().code == Code::kInvalidArgument || count.error().code == Code::kDataLoss;
    return fail(count.error().code, "{}: train.epochs: can't count the elements of dataset '{}'{} ({}){}", program.path,
                dataset, is_of_data ? "" : " here", count.error().message, is_of_data ? "" : ": set train.steps");
  }
  if (*count <= 0) {
    const std::string why = why_empty(program, dataset, options);
    return fail(Code::kInvalidArgument, "{}: train.epochs: dataset '{}' has no elements{}{}", program.path, dataset,
                why.empty() ? "" : ": ", why);
  }
  program.datasets.at(dataset).stages.emplace_back(data::Repeat{});
  program.endless_datasets.insert(dataset);
  const std::int64_t epochs = *program.train->epochs, elements = *count * epochs;
  program.train->epochs.reset();
  program.train->steps = steps_over(elements, std::max(options.elements_per_step, 1));
  if (const auto& evaluate = program.train->evaluate)
    TFD_TRY(program::check_evaluation(program, *program.find_function(evaluate->function), evaluate->steps),
            program.path + ": train.evaluate");
  return StepsOfEpochs{std::move(program), elements, epochs};
}

}  // namespace tfd::train
