// SPDX-License-Identifier: Apache-2.0
//
// train.validation_split, as in Keras' fit(): the last fraction of a dataset's rows, before shuffling, is held out of
// the training and evaluated. Source: keras/src/trainers/data_adapters/data_adapter_utils.py, train_validation_split.
#include <algorithm>
#include <cmath>

#include "draft.hpp"
#include "tfd/base/text.hpp"
#include "tfd/data/stage_traits.hpp"

namespace tfd::program {
namespace {

/// The only dataset that the function of that name reads; `key` is where the function is named.
Result<std::string> dataset_of(const Node& node, const std::string& key, const std::string& function,
                               const std::vector<FunctionDraft>& functions) {
  const auto found = std::ranges::find(functions, function, [](const FunctionDraft& one) { return one.def.name; });
  const auto names = found == functions.end() ? std::vector<std::string>() : datasets_of(found->def);
  if (names.size() == 1) return names.front();
  return node.fail("'{}' of {} must read one dataset, not {}", function, key, names.empty() ? "none" : "several");
}

Result<ValidationSplit> read_split(const Node& node, const Node& train, const std::vector<FunctionDraft>& functions) {
  ValidationSplit out{node, 0, {}, {}};
  out.fraction = TFD_TRY(node.number());
  if (!(out.fraction > 0 && out.fraction < 1)) return node.fail("must be between 0 and 1, such as 0.2");
  const auto evaluate = train.find("evaluate");
  const auto evaluated = evaluate && evaluate->is_object() ? evaluate->find("function") : std::nullopt;
  if (!evaluated) return node.fail("needs train.evaluate, whose function evaluates the rows that are held out");
  const std::string trains = TFD_TRY(TFD_TRY(train.member("function")).text());
  out.trained = TFD_TRY(dataset_of(node, "train", trains, functions));
  out.evaluated = TFD_TRY(dataset_of(node, "train.evaluate", TFD_TRY(evaluated->text()), functions));
  if (out.evaluated == out.trained)
    return node.fail("'{}' trains and evaluates with dataset '{}': the evaluation must read one of its own", trains,
                     out.trained);
  return out;
}

bool joins_datasets(const data::Stage& stage) { return !data::inner_plans(stage).empty(); }

/// Stages before which rows are still rows, each in its place.
bool keeps_places(const data::Stage& stage) {
  const data::StageTraits traits = data::traits_of(stage);
  const bool is_in_place =
      traits.elements == data::ElementTrait::kUntouched || traits.elements == data::ElementTrait::kMapped;
  return joins_datasets(stage) || (is_in_place && !traits.batch_size);
}

}  // namespace

std::optional<ValidationSplit> parse_validation_split(const Node& root, const std::vector<FunctionDraft>& functions,
                                                      Problems& problems) {
  const auto train = root.find("train");
  const auto node = train && train->is_object() ? train->find("validation_split") : std::nullopt;
  if (!node) return std::nullopt;
  return problems.keep(*node, {}, read_split(*node, *train, functions));
}

Result<SplitPlans> split_rows(const ValidationSplit& split, const data::Plan& plan,
                              const data::DatasetContext& context) {
  const auto wrong = [&](std::string_view what) {
    return split.node.fail("can't count the rows of dataset '{}': {}", split.trained, what);
  };
  SplitPlans out{.place = 1};
  for (std::size_t i = 1; i < plan.stages.size(); ++i)
    if (joins_datasets(plan.stages[i])) out.place = i + 1;
  for (std::size_t i = 1; i < out.place; ++i)
    if (!keeps_places(plan.stages[i]))
      return split.node.fail("dataset '{}' can't be split: '{}' comes before '{}', which joins datasets", split.trained,
                             data::name_of(plan.stages[i]), data::name_of(plan.stages[out.place - 1]));
  const data::Plan rows{{plan.stages.begin(), plan.stages.begin() + static_cast<std::ptrdiff_t>(out.place)}};
  const auto is_command = [](const data::Stage& stage) { return std::holds_alternative<data::CommandSource>(stage); };
  constexpr std::string_view kAdvice = "state two datasets, with take and skip, instead";
  if (data::has_stage(rows, is_command)) return wrong(fmt::format("a command prints them; {}", kAdvice));
  if (data::counts_by_content(rows)) return wrong(fmt::format("a function decides the number of rows; {}", kAdvice));
  const auto dataset = data::instantiate(rows, context);
  if (!dataset) return wrong(dataset.error().message);
  const auto counted_rows = data::count_elements(**dataset);
  if (!counted_rows) return wrong(counted_rows.error().message);
  const std::int64_t count = *counted_rows;
  if (count == data::Dataset::kInfinite) return wrong(fmt::format("it never ends; {}", kAdvice));
  out.first = static_cast<std::int64_t>(std::floor(static_cast<double>(count) * (1 - split.fraction)));
  if (out.first == 0 || out.first == count)
    return split.node.fail("{} of {} of dataset '{}' leaves no row to {}", split.fraction,
                           counted(static_cast<std::uint64_t>(count), "row"), split.trained,
                           out.first == 0 ? "train with" : "evaluate");
  return out;
}

Result<data::Plan> held_out_plan(const SplitPlans& at, const data::Plan& trained, const Node& own) {
  if (own.is_list() && data::parse_plan(own.json()))
    return own.fail("has a source, but its rows are those that train.validation_split holds out: leave out the source");
  data::Plan rows{{trained.stages.begin(), trained.stages.begin() + static_cast<std::ptrdiff_t>(at.place)}};
  rows.stages.emplace_back(data::Skip{at.first});
  return at_path(own.path(), data::parse_plan_after(std::move(rows), own.json()));
}

data::Plan kept_plan(const SplitPlans& at, data::Plan trained) {
  trained.stages.insert(trained.stages.begin() + static_cast<std::ptrdiff_t>(at.place), data::Take{at.first});
  return trained;
}

}  // namespace tfd::program
